//! What the table of schemes says of each: names, parameters and defaults. How schemes behave is tested in `conformance.rs`.

use tailback_control::{SCHEMES, Scheme};
use tailback_core::Checker;

#[test]
fn names_are_unique_and_agree_with_the_written_form() {
    for (index, info) in SCHEMES.iter().enumerate() {
        assert!(SCHEMES[..index].iter().all(|other| other.name != info.name), "{} twice", info.name);
        let scheme = (info.default)();
        assert_eq!(scheme.name(), info.name);
        assert_eq!(scheme.info().name, info.name);
        assert_eq!(scheme.reliability(), info.reliability);
        let written = serde_json::to_value(&scheme).expect("a scheme can be written");
        assert_eq!(written["name"], info.name);
        assert_eq!(serde_json::from_value::<Scheme>(written).expect("and read again"), scheme);
        let bare = serde_json::json!({ "name": info.name });
        assert_eq!(serde_json::from_value::<Scheme>(bare).expect("defaults may be left out"), scheme);
    }
}

#[test]
fn unknown_parameters_are_refused() {
    for info in SCHEMES {
        let text = serde_json::json!({ "name": info.name, "no_such_field": 1 });
        let error =
            serde_json::from_value::<Scheme>(text).expect_err("an unknown field is an error").to_string();
        assert!(error.contains("no_such_field"), "{error}");
    }
}

#[test]
fn defaults_pass_their_own_check() {
    for info in SCHEMES {
        let mut checker = Checker::new();
        (info.default)().check(&mut checker);
        assert_eq!(checker.finish(), Ok(()), "{}", info.name);
    }
}

#[test]
fn bad_parameters_are_named() {
    let cases = [
        (serde_json::json!({ "name": "cubic", "beta": 1.5, "c": -1.0 }), vec!["beta", "c"]),
        (
            serde_json::json!({
                "name": "packet-pair", "increase_factor": 0.0, "setpoint": { "name": "fixed", "packets": -1.0 },
                "law": { "name": "discrete", "alpha": 0.0 }, "estimator": { "name": "ewma", "history": 1.0 },
            }),
            vec!["setpoint.packets", "law.alpha", "estimator.history", "increase_factor"],
        ),
        (serde_json::json!({ "name": "sack", "slow_start_limit": 0.0 }), vec!["slow_start_limit"]),
        (serde_json::json!({ "name": "fixed-window", "window": "0 packets" }), vec!["window"]),
        (
            serde_json::json!({ "name": "fixed-rate", "rate": "0 bit/s", "burst": "0 B" }),
            vec!["rate", "burst"],
        ),
    ];
    for (text, fields) in cases {
        let scheme: Scheme = serde_json::from_value(text).expect("well-formed");
        let mut checker = Checker::new();
        scheme.check(&mut checker);
        let found: Vec<String> =
            checker.finish().expect_err("bad").into_iter().map(|error| error.field).collect();
        assert_eq!(found, fields);
    }
}
