-- Wireshark's dissector of the frames that Tailback's endpoints exchange over UDP, and of the envelopes around them
-- (docs/wire-format.md, versions 5 and 4). Nothing is decrypted or checked beyond lengths; UDP ports are recognized by what
-- a datagram looks like.

local tailback = Proto("tailback", "Tailback")

local KINDS = { [0] = "data", [1] = "ack", [2] = "report", [3] = "control" }
local ECN = { [0] = "not-ect", [1] = "ect1", [2] = "ect0", [3] = "ce" }
local PAIRS = { [0] = "single", [1] = "first", [2] = "second" }
local ANNEXES = { [0] = "none", [1] = "acknowledgement", [2] = "control", [3] = "report", [4] = "custom", [5] = "request" }
local REPORTS = { [1] = "interval", [2] = "loss", [3] = "accumulation", [4] = "gate", [5] = "custom", [6] = "rate", [7] = "arrivals" }
local VERSION, HEAD, DATA = 5, 20, 0
local ENVELOPE, ENVELOPE_HEAD, TAG = 4, 24, 16
local ENVELOPES =
    { [1] = "hello", [2] = "cookie", [3] = "initiation", [4] = "response", [5] = "sealed", [6] = "open", [7] = "other version" }
local MESSAGES = { [0x81] = "ping", [0x82] = "pong", [0x83] = "verdict", [0x84] = "farewell" }

local f = {
    version = ProtoField.uint8("tailback.version", "Version"),
    annex_kind = ProtoField.uint8("tailback.annex", "Kind of annex", base.DEC, ANNEXES),
    kind = ProtoField.uint16("tailback.kind", "Kind", base.DEC, KINDS, 0x0003),
    lane = ProtoField.uint16("tailback.lane", "Lane", base.DEC, nil, 0x001c),
    ecn = ProtoField.uint16("tailback.ecn", "ECN field", base.DEC, ECN, 0x0060),
    pair = ProtoField.uint16("tailback.pair", "Place in a probe", base.DEC, PAIRS, 0x0180),
    rho = ProtoField.bool("tailback.rho", "Utilization mark", 16, nil, 0x0200),
    eta = ProtoField.bool("tailback.eta", "Burstiness mark", 16, nil, 0x0400),
    retransmitted = ProtoField.bool("tailback.retransmitted", "Retransmitted", 16, nil, 0x0800),
    corrupted = ProtoField.bool("tailback.corrupted", "Corrupted", 16, nil, 0x1000),
    ece = ProtoField.bool("tailback.ece", "Echo of congestion experienced", 16, nil, 0x2000),
    psh = ProtoField.bool("tailback.psh", "To be acknowledged at once", 16, nil, 0x2000),
    cwr = ProtoField.bool("tailback.cwr", "Window reduced", 16, nil, 0x4000),
    last = ProtoField.bool("tailback.last", "Last of its message", 16, nil, 0x8000),
    flow = ProtoField.uint32("tailback.flow", "Flow"),
    number = ProtoField.uint64("tailback.number", "Number"),
    size = ProtoField.uint16("tailback.size", "Size on the wire, as endpoints count it"),
    annex_length = ProtoField.uint16("tailback.annex_length", "Length of the annex"),
    trigger = ProtoField.uint64("tailback.ack.trigger", "Segment that caused it"),
    marks_ce = ProtoField.uint32("tailback.ack.ce", "Congestion marks since the start"),
    marks_rho = ProtoField.uint32("tailback.ack.rho", "Utilization marks since the start"),
    marks_eta = ProtoField.uint32("tailback.ack.eta", "Burstiness marks since the start"),
    range_start = ProtoField.uint64("tailback.ack.start", "Range from"),
    range_end = ProtoField.uint64("tailback.ack.end", "Range before"),
    control_pair = ProtoField.uint64("tailback.control.pair", "Pair"),
    packets_sent = ProtoField.uint64("tailback.control.packets_sent", "Data packets sent"),
    bytes_sent = ProtoField.uint64("tailback.control.bytes_sent", "Data bytes sent"),
    in_flight = ProtoField.uint64("tailback.control.in_flight", "Bytes in flight"),
    virtual_delay = ProtoField.uint64("tailback.virtual_delay", "Virtual delay (ns)"),
    sent_at = ProtoField.uint64("tailback.control.sent_at", "Sent at (ns)"),
    echo = ProtoField.uint64("tailback.echo", "Echo of a time (ns)"),
    arrived = ProtoField.uint64("tailback.ack.arrived", "Time of arrival (ns)"),
    held = ProtoField.uint64("tailback.held", "Echo held for (ns)"),
    rtt = ProtoField.uint64("tailback.control.rtt", "Round trip time (ns)"),
    app_rate = ProtoField.uint64("tailback.control.app_rate", "Application's rate (bit/s)"),
    request = ProtoField.uint16("tailback.request", "Number of the request for acknowledgements"),
    request_threshold = ProtoField.uint16("tailback.request.threshold", "Packets per acknowledgement"),
    request_delay = ProtoField.uint32("tailback.request.delay", "Longest delay (us)"),
    arrived_bytes = ProtoField.uint64("tailback.report.arrived_bytes", "Data bytes arrived"),
    arrived_packets = ProtoField.uint64("tailback.report.arrived_packets", "Data packets arrived"),
    report = ProtoField.uint8("tailback.report", "Kind of report", base.DEC, REPORTS),
    report_body = ProtoField.bytes("tailback.report.body", "Report"),
    custom = ProtoField.bytes("tailback.custom", "Custom annex"),
    offset = ProtoField.uint64("tailback.offset", "Offset in the stream"),
    payload_length = ProtoField.uint16("tailback.payload_length", "Length of the payload"),
    payload = ProtoField.bytes("tailback.payload", "Payload"),
    envelope = ProtoField.uint8("tailback.envelope", "Kind of envelope", base.DEC, ENVELOPES),
    nonce = ProtoField.uint64("tailback.nonce", "Nonce of the handshake", base.HEX),
    hello_length = ProtoField.uint16("tailback.hello_length", "Length of the hello"),
    cookie = ProtoField.bytes("tailback.cookie", "Cookie"),
    noise = ProtoField.bytes("tailback.noise", "Noise's message"),
    code = ProtoField.bytes("tailback.code", "Code of the invitation"),
    session = ProtoField.uint32("tailback.session", "Session of who gets it", base.HEX),
    own_session = ProtoField.uint32("tailback.own_session", "Session of who sends it", base.HEX),
    counter = ProtoField.uint64("tailback.counter", "Counter"),
    sealed = ProtoField.bytes("tailback.sealed", "Sealed"),
    message = ProtoField.uint8("tailback.message", "Message", base.HEX, MESSAGES),
}
tailback.fields = f

-- Adds fields of these widths one after another from `at`; where the next one begins.
local function add(tree, buffer, at, list)
    for _, each in ipairs(list) do
        tree:add(each[1], buffer(at, each[2]))
        at = at + each[2]
    end
    return at
end

-- Adds a number that a byte announces; where the next one begins.
local function optional(tree, buffer, at, field)
    if buffer(at, 1):uint() == 0 then
        return at + 1
    end
    tree:add(field, buffer(at + 1, 8))
    return at + 9
end

local annexes = {}

annexes[1] = function(tree, buffer, at)
    local count = buffer(at, 1):uint()
    at = add(tree, buffer, at + 1, { { f.trigger, 8 } })
    at = optional(tree, buffer, at, f.echo)
    at = optional(tree, buffer, at, f.arrived)
    at = add(tree, buffer, at, { { f.marks_ce, 4 }, { f.marks_rho, 4 }, { f.marks_eta, 4 } })
    for _ = 1, count do
        at = add(tree, buffer, at, { { f.range_start, 8 }, { f.range_end, 8 } })
    end
end

annexes[2] = function(tree, buffer, at, finish)
    at = add(tree, buffer, at, {
        { f.control_pair, 8 },
        { f.packets_sent, 8 },
        { f.bytes_sent, 8 },
        { f.in_flight, 8 },
        { f.virtual_delay, 8 },
        { f.sent_at, 8 },
    })
    at = optional(tree, buffer, at, f.echo)
    at = add(tree, buffer, at, { { f.held, 8 } })
    at = optional(tree, buffer, at, f.rtt)
    at = optional(tree, buffer, at, f.app_rate)
    if finish > at then
        annexes[5](tree, buffer, at)
    end
end

annexes[3] = function(tree, buffer, at, finish)
    at = optional(tree, buffer, at, f.echo)
    at = add(tree, buffer, at, { { f.held, 8 }, { f.arrived_bytes, 8 }, { f.arrived_packets, 8 }, { f.report, 1 } })
    if finish > at then
        tree:add(f.report_body, buffer(at, finish - at))
    end
end

annexes[4] = function(tree, buffer, at, finish)
    if finish > at then
        tree:add(f.custom, buffer(at, finish - at))
    end
end

annexes[5] = function(tree, buffer, at)
    add(tree, buffer, at, { { f.request, 2 }, { f.request_threshold, 2 }, { f.request_delay, 4 } })
end

-- Whether a datagram is a frame: its lengths fit exactly.
local function is_frame(buffer)
    if buffer:len() < HEAD or buffer(0, 1):uint() ~= VERSION or buffer(1, 1):uint() > 5 then
        return false
    end
    local beyond = HEAD + buffer(18, 2):uint()
    if bit32.band(buffer(2, 2):uint(), 3) ~= DATA then
        return buffer:len() == beyond
    end
    return buffer:len() >= beyond + 10 and buffer:len() == beyond + 10 + buffer(beyond + 8, 2):uint()
end

-- The versions of the hellos that this capture holds, by their nonces.
local hellos = {}

function tailback.init()
    hellos = {}
end

local function nonce(buffer)
    return buffer(4, 8):bytes():tohex()
end

-- Whether a datagram has the head of what no version changes, which is so since version 4.
local function is_of_all(buffer, kind)
    return buffer(0, 1):uint() >= ENVELOPE and buffer(1, 1):uint() == kind and buffer(2, 2):uint() == 0
end

-- Whether a datagram is a hello of any version: behind its code there are only zeros.
local function is_hello(buffer)
    return buffer:len() >= 96 and is_of_all(buffer, 1) and not buffer:raw(44):find("[^%z]")
end

-- Whether a datagram may answer a hello of another version, as far as it says itself.
local function is_other(buffer)
    return buffer:len() == 44 and is_of_all(buffer, 7)
end

-- Whether it does answer one of this capture. So little of it is known beforehand that it could be anybody's else.
local function answers_a_hello(buffer)
    local version = hellos[nonce(buffer)]
    return version ~= nil and version ~= buffer(0, 1):uint()
end

-- Whether a datagram is an envelope: its lengths fit its kind.
local function is_envelope(buffer)
    if buffer:len() < 20 then
        return false
    end
    local kind, length = buffer(1, 1):uint(), buffer:len()
    local least = { nil, 86, 88, 12, ENVELOPE_HEAD + TAG + 1, ENVELOPE_HEAD + 1 }
    local is_ours = buffer(0, 1):uint() == ENVELOPE and least[kind] ~= nil and length >= least[kind]
    return is_hello(buffer) or (is_ours and (kind ~= 2 or length == 86))
end

-- A frame, and what the columns say of it.
local function frame(buffer, info, root)
    local bits = buffer(2, 2):uint()
    local kind = bit32.band(bits, 3)
    info.cols.protocol = "Tailback"
    info.cols.info = string.format("%s %s of flow %d", KINDS[kind], buffer(8, 8):uint64(), buffer(4, 4):uint())
    local tree = root:add(tailback, buffer())
    add(tree, buffer, 0, { { f.version, 1 }, { f.annex_kind, 1 } })
    for _, field in ipairs({ f.kind, f.lane, f.ecn, f.rho, f.eta, f.corrupted }) do
        tree:add(field, buffer(2, 2))
    end
    -- The other bits mean something on data, or on acknowledgements.
    local own = ({ [0] = { f.pair, f.retransmitted, f.psh, f.cwr, f.last }, [1] = { f.ece } })[kind] or {}
    for _, field in ipairs(own) do
        tree:add(field, buffer(2, 2))
    end
    local at = add(tree, buffer, 4, { { f.flow, 4 }, { f.number, 8 }, { f.size, 2 }, { f.annex_length, 2 } })
    local beyond = at + buffer(18, 2):uint()
    local annex = annexes[buffer(1, 1):uint()]
    if annex then
        annex(tree:add(buffer(at, beyond - at), "Annex"), buffer, at, beyond)
    end
    if kind == DATA then
        at = add(tree, buffer, beyond, { { f.offset, 8 }, { f.payload_length, 2 } })
        if buffer:len() > at then
            tree:add(f.payload, buffer(at))
        end
    end
    return buffer:len()
end

local envelopes = {}

envelopes[1] = function(tree, buffer)
    hellos[nonce(buffer)] = buffer(0, 1):uint()
    add(tree, buffer, 4, { { f.nonce, 8 }, { f.code, 32 } })
end

envelopes[2] = function(tree, buffer)
    add(tree, buffer, 4, { { f.nonce, 8 }, { f.hello_length, 2 }, { f.cookie, 40 }, { f.code, 32 } })
end

envelopes[3] = function(tree, buffer)
    local at = add(tree, buffer, 4, { { f.nonce, 8 }, { f.own_session, 4 }, { f.cookie, 40 } })
    add(tree, buffer, at, { { f.noise, buffer:len() - at - 32 }, { f.code, 32 } })
end

envelopes[4] = function(tree, buffer)
    local at = add(tree, buffer, 4, { { f.session, 4 }, { f.own_session, 4 } })
    if buffer:len() > at then
        tree:add(f.noise, buffer(at))
    end
end

envelopes[7] = function(tree, buffer)
    add(tree, buffer, 4, { { f.nonce, 8 }, { f.code, 32 } })
end

-- The head of what is sealed or open; where its inside begins.
local function visible(tree, buffer)
    for _, field in ipairs({ f.lane, f.ecn, f.pair, f.rho, f.eta }) do
        tree:add(field, buffer(2, 2))
    end
    return add(tree, buffer, 4, { { f.session, 4 }, { f.counter, 8 }, { f.virtual_delay, 8 } })
end

envelopes[5] = function(tree, buffer)
    tree:add(f.sealed, buffer(visible(tree, buffer)))
end

envelopes[6] = function(tree, buffer, info)
    local inside = buffer(visible(tree, buffer)):tvb()
    if is_frame(inside) then
        frame(inside, info, tree)
    else
        tree:add(f.message, inside(0, 1))
    end
end

function tailback.dissector(buffer, info, root)
    if is_frame(buffer) then
        return frame(buffer, info, root)
    end
    if not is_envelope(buffer) and not is_other(buffer) then
        return 0
    end
    local kind = buffer(1, 1):uint()
    info.cols.protocol = "Tailback"
    info.cols.info = ENVELOPES[kind]
    local tree = root:add(tailback, buffer())
    tree:add(f.version, buffer(0, 1))
    tree:add(f.envelope, buffer(1, 1))
    envelopes[kind](tree, buffer, info)
    return buffer:len()
end

tailback:register_heuristic("udp", function(buffer, info, root)
    if not is_frame(buffer) and not is_envelope(buffer) and not (is_other(buffer) and answers_a_hello(buffer)) then
        return false
    end
    tailback.dissector(buffer, info, root)
    return true
end)
