//! A stream of quinn, with its defaults.

use std::sync::Arc;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Endpoint, ServerConfig};

/// Moves so many bytes from one thread to another, each with a runtime of its own.
pub fn transfer(bytes: usize) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let (tell, told) = std::sync::mpsc::channel();
    let served = certificate.clone();
    let reader = std::thread::spawn(move || {
        runtime().block_on(async {
            let config = ServerConfig::with_single_cert(vec![served], key.into()).expect("a server");
            let endpoint =
                Endpoint::server(config, ([127, 0, 0, 1], 0).into()).expect("a socket");
            tell.send(endpoint.local_addr().expect("bound")).expect("heard");
            let connection = endpoint.accept().await.expect("open").await.expect("connected");
            let mut stream = connection.accept_uni().await.expect("a stream");
            let mut arrived = 0;
            while let Some(chunk) = stream.read_chunk(usize::MAX, true).await.expect("goes on") {
                arrived += chunk.bytes.len();
            }
            assert_eq!(arrived, bytes);
            connection.close(0_u32.into(), b"");
            endpoint.wait_idle().await;
        });
    });
    let address = told.recv().expect("it listens");
    runtime().block_on(async {
        let mut roots = RootCertStore::empty();
        roots.add(certificate).expect("a certificate");
        let mut endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a socket");
        let config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
        endpoint.set_default_client_config(config);
        let connection = endpoint.connect(address, "localhost").expect("begins").await.expect("connected");
        let mut stream = connection.open_uni().await.expect("a stream");
        let chunk = vec![7; 256 << 10];
        let mut left = bytes;
        while left > 0 {
            let length = left.min(chunk.len());
            stream.write_all(&chunk[..length]).await.expect("goes on");
            left -= length;
        }
        stream.finish().expect("open");
        connection.closed().await;
    });
    reader.join().expect("no panic");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}
