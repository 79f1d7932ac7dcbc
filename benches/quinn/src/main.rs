//! A file from one process to another over QUIC, as quinn does it, with the file's SHA-256 compared at the end: the same work
//! as `tailback send` and `tailback recv`. `quinn-file recv FILE PORT`, then `quinn-file send FILE PORT`, on one host. What it
//! costs is measured from outside, by `python -m benches.transfers`. The certificate is not checked: this is no tool.
//! Files are read and written where the connection is driven, since they lie in memory and other threads would only cost more.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use ring::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Bytes read or written at once.
const PIECE: usize = 1 << 20;
/// What may be on its way, as `tailback send` has it.
const WINDOW: u32 = 64 << 20;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let [_, role, file, port] = &args[..] else {
        return Err("say: recv FILE PORT, or send FILE PORT".into());
    };
    let address = SocketAddr::from(([127, 0, 0, 1], port.parse()?));
    match role.as_str() {
        "recv" => receive(file, address).await,
        "send" => send(file, address).await,
        other => Err(format!("{other}: neither recv nor send").into()),
    }
}

fn transport() -> Arc<TransportConfig> {
    let mut config = TransportConfig::default();
    config.stream_receive_window(VarInt::from_u32(WINDOW));
    config.receive_window(VarInt::from_u32(WINDOW));
    config.send_window(u64::from(WINDOW));
    config.max_idle_timeout(Some(Duration::from_secs(10).try_into().expect("a short time")));
    Arc::new(config)
}

async fn receive(file: &str, address: SocketAddr) -> Result<(), Error> {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let secret = PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![key.cert.der().clone()], secret.into())?;
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, address)?;
    println!("waiting");
    let connection = endpoint.accept().await.ok_or("closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let mut told = [0; SHA256_OUTPUT_LEN];
    stream.read_exact(&mut told).await?;
    let (mut out, mut hash) = (File::create(file)?, Context::new(&SHA256));
    while let Some(chunk) = stream.read_chunk(PIECE, true).await? {
        hash.update(&chunk.bytes);
        out.write_all(&chunk.bytes)?;
    }
    out.flush()?;
    let equal = hash.finish().as_ref() == told;
    answer(&connection, equal).await?;
    endpoint.wait_idle().await;
    if equal { Ok(()) } else { Err("the hash differs".into()) }
}

async fn answer(connection: &Connection, equal: bool) -> Result<(), Error> {
    let mut back = connection.open_uni().await?;
    back.write_all(&[u8::from(equal)]).await?;
    back.finish()?;
    connection.closed().await;
    Ok(())
}

async fn send(file: &str, address: SocketAddr) -> Result<(), Error> {
    let crypto =
        rustls::ClientConfig::builder().dangerous().with_custom_certificate_verifier(Arc::new(Anybody));
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(crypto.with_no_client_auth())?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport());
    let endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let connection = endpoint.connect_with(config, address, "localhost")?.await?;
    let mut stream = connection.open_uni().await?;
    // The hash goes first, as an offer does.
    let mut hash = Context::new(&SHA256);
    let mut piece = vec![0; PIECE];
    let mut source = File::open(file)?;
    loop {
        match source.read(&mut piece)? {
            0 => break,
            some => hash.update(&piece[..some]),
        }
    }
    stream.write_all(hash.finish().as_ref()).await?;
    let mut source = File::open(file)?;
    loop {
        match source.read(&mut piece)? {
            0 => break,
            some => stream.write_all(&piece[..some]).await?,
        }
    }
    stream.finish()?;
    let mut back = connection.accept_uni().await?;
    let equal = back.read_to_end(1).await? == [1];
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    if equal { Ok(()) } else { Err("the hash differs".into()) }
}

/// Takes any certificate.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
