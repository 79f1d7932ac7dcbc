//! Prints the JSON Schema of scenarios: `cargo run -p tailback-scenario --example schema`.

#[expect(clippy::print_stdout, reason = "printing is this example's purpose")]
fn main() {
    println!("{:#}", tailback_scenario::schema::schema());
}
