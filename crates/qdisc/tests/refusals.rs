//! Bad parameters are refused, each with the name of its field.

use tailback_core::Checker;
use tailback_qdisc::Config;

/// The fields complained about.
fn complaints(written: &str) -> Vec<String> {
    let config: Config = serde_json::from_str(written).expect(written);
    let mut checker = Checker::new();
    config.check(&mut checker);
    checker.finish().err().into_iter().flatten().map(|error| error.field).collect()
}

#[test]
fn every_bad_parameter_is_named() {
    for (written, fields) in [
        (r#"{"name":"red","min":"20 packets","max":"10 packets"}"#, vec!["max"]),
        (r#"{"name":"red","min":"0 packets","max_p":1.5,"weight":0}"#, vec!["min", "max_p", "weight"]),
        (r#"{"name":"rem","phi":1,"gamma":0,"period":"0 s"}"#, vec!["gamma", "phi", "period"]),
        (r#"{"name":"pi","a":1e-5,"b":2e-5}"#, vec!["a"]),
        (
            r#"{"name":"pie","target":"0 ms","period":"1 ns","mark_limit":2}"#,
            vec!["target", "period", "mark_limit"],
        ),
        (r#"{"name":"pie","alpha":1e308,"beta":1e308}"#, vec!["alpha", "beta"]),
        (r#"{"name":"rem","gamma":1e300,"alpha":1e300,"phi":1e300}"#, vec!["gamma", "alpha", "phi"]),
        (r#"{"name":"pi","a":1e308,"b":1e307}"#, vec!["a"]),
        (r#"{"name":"avd","gain":1e308}"#, vec!["gain"]),
        (r#"{"name":"framed-round-robin","reserve":5e-324}"#, vec!["reserve"]),
        (r#"{"name":"codel","target":"100 ms","interval":"10 ms"}"#, vec!["interval"]),
        (r#"{"name":"fq-codel","quantum":"1 B","queues":0}"#, vec!["quantum", "queues"]),
        (
            r#"{"name":"cake","rate":"0 bit/s","rtt":"0 s","overhead":"257 B","least_frame":"1 kB",
                "codepoints":[{"flows":[]},{"flows":[1,1]}]}"#,
            vec!["rate", "rtt", "overhead", "least_frame", "codepoints[0].flows", "codepoints[1].flows"],
        ),
        (
            r#"{"name":"dualpi2","coupling":0.5,"ramp_min":"2 ms","ramp_max":"1 ms"}"#,
            vec!["coupling", "ramp_max"],
        ),
        (r#"{"name":"avq","target":1.1,"gain":0}"#, vec!["target", "gain"]),
        (r#"{"name":"avd","target":0}"#, vec!["target"]),
        (
            r#"{"name":"tdqm","window":"0 s","rho":{"min":0.95,"max":0.9},"eta":{"max":1.2,"weight":0}}"#,
            vec!["window", "rho.max", "eta.max", "eta.weight"],
        ),
        (
            r#"{"name":"weighted-fair-queueing","shares":[{"flows":[1],"weight":0},{"flows":[1]},{}]}"#,
            vec!["shares[0].weight", "shares[1].flows", "shares[2].flows"],
        ),
        (
            r#"{"name":"weighted-fair-queueing","shares":[{"flows":[1],"weight":1e18},{"flows":[2],"weight":1e-9}]}"#,
            vec!["shares[0].weight", "shares[1].weight"],
        ),
        (
            r#"{"name":"weighted-round-robin","shares":[{"flows":[1],"weight":0.001}]}"#,
            vec!["shares[0].weight"],
        ),
        (r#"{"name":"deficit-round-robin","quantum":"0 B"}"#, vec!["quantum"]),
        (r#"{"name":"deficit-round-robin","buffer":{"per_flow":"1 BDP"}}"#, vec!["buffer.per_flow"]),
        (r#"{"name":"weighted-fair-queueing","buffer":{"victim":"longest-head"}}"#, vec!["buffer.victim"]),
        (r#"{"name":"virtual-clock","reserve":0}"#, vec!["reserve"]),
        (r#"{"name":"framed-round-robin","frame":"2 s"}"#, vec!["frame"]),
        (
            r#"{"name":"hierarchical-round-robin","levels":[{"frame":"10 ms","part":0.7},{"frame":"5 ms","part":0.7}]}"#,
            vec!["levels[1].frame", "levels"],
        ),
        (r#"{"name":"hierarchical-round-robin","levels":[]}"#, vec!["levels"]),
        (
            r#"{"name":"priority","lanes":[{}],"classes":[{"flows":[1],"lane":3}]}"#,
            vec!["lanes", "classes[0].lane"],
        ),
        (
            r#"{"name":"priority","lanes":[{},{"queue":{"name":"red","max_p":0}}]}"#,
            vec!["lanes[1].queue.max_p"],
        ),
        (
            r#"{"name":"token-bucket","rate":"0 bit/s","classes":[{"burst":"0 B"}]}"#,
            vec!["rate", "classes[0].burst", "classes[0].flows"],
        ),
        (r#"{"name":"policer","burst":"0 B"}"#, vec!["burst"]),
    ] {
        assert_eq!(complaints(written), fields, "{written}");
    }
}

#[test]
fn switches_of_marks_are_found_wherever_they_are() {
    for (written, switches) in [
        (r#"{"name":"drop-tail"}"#, vec![]),
        (r#"{"name":"red"}"#, vec![]),
        (r#"{"name":"fq-codel"}"#, vec![]),
        (r#"{"name":"red","ecn":true}"#, vec!["ecn"]),
        (
            r#"{"name":"priority","lanes":[{},{"queue":{"name":"codel","ecn":true}}]}"#,
            vec!["lanes[1].queue.ecn"],
        ),
        (
            r#"{"name":"token-bucket","queue":{"name":"avq","ecn":true},
                "classes":[{"flows":[1],"queue":{"name":"priority","lanes":[{"queue":{"name":"pi","ecn":true}},{}]}}]}"#,
            vec!["queue.ecn", "classes[0].queue.lanes[0].queue.ecn"],
        ),
    ] {
        let config: Config = serde_json::from_str(written).unwrap();
        assert_eq!(config.ecn_switches(), switches, "{written}");
    }
}
