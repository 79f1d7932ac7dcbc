# One run of one row of python/tailback/validation/reference/ns2.csv on ns-2 2.35; the README there explains the figures.
#
#   ns oracle.tcl ?key=value ...?      for example: ns oracle.tcl proto=sack queue=red n=64 bw=32 jitter=0.00025 seed=3
#
#   proto   sack newreno reno vegas tfrc       queue   droptail red drr fq
#   n       flows                              bw      bottleneck, Mbit/s
#   rtt     propagation round trip, ms         acc     access links, Mbit/s
#   buf     waiting packets, 0: one BDP        seed    of the run
#   from,to the measured time, s               jitter  largest delay of a send opportunity, s
#   loss    probability before the queue       delack  1: acknowledge every second packet
#   cbr     a further constant-rate flow, Mbit/s
#
# The groups of the table:   dumbbell   jitter=0, or 0.008/bw
#                            bernoulli  n=10 bw=100 rtt=100 acc=1000 buf=10000 to=520 loss=… delack=…
#                            fair       n=4 bw=10 cbr=4
# Prints key=value pairs on one line.

array set o {proto sack queue droptail n 8 bw 10 rtt 60 acc 100 buf 0 seed 1 from 20 to 120 jitter 0 loss 0 delack 0 cbr 0}
foreach pair $argv {
    lassign [split $pair =] key value
    if {![info exists o($key)]} { puts stderr "unknown option $key; known: [lsort [array names o]]"; exit 2 }
    set o($key) $value
}
set capacity [expr {$o(bw) * 1e6}]
if {$o(buf) == 0} { set o(buf) [expr {int($capacity * $o(rtt) * 1e-3 / 8000.0 + 0.5)}] }
set unlimited 1000000

set sim [new Simulator]
$defaultRNG seed $o(seed)
set starts [new RNG]
$starts seed [expr {1000 + $o(seed)}]

# --- Endpoints: everything that has a default is set, so that the table does not depend on the version --------------

foreach {variable value} {
    packetSize_ 960 tcpip_base_hdr_size_ 40 useHeaders_ true
    window_ 10000 windowInit_ 2 windowInitOption_ 1 maxburst_ 0 singledup_ 1
    minrto_ 0.2 maxrto_ 60 rtxcur_init_ 3.0 tcpTick_ 0.01
    ecn_ 0 timestamps_ false
} { Agent/TCP set $variable $value }
Agent/TCP set overhead_ $o(jitter)
# Vegas takes no notice of useHeaders_.
Agent/TCP/Vegas set packetSize_ 1000
foreach {variable value} {v_alpha_ 1 v_beta_ 3 v_gamma_ 1} { Agent/TCP/Vegas set $variable $value }
Agent/TCPSink set packetSize_ 40
Agent/TCPSink set maxSackBlocks_ 3
Agent/TCPSink/DelAck set interval_ 100ms
foreach {variable value} {packetSize_ 968 headersize_ 32 useHeaders_ true} { Agent/TFRC set $variable $value }
# Relative here: the gap between packets times U(0.5, 1.5).
Agent/TFRC set overhead_ [expr {$o(jitter) > 0 ? 0.5 : 0}]
Agent/TFRCSink set packetSize_ 40

# --- Queues ---------------------------------------------------------------------------------------------------------

foreach {variable value} {
    bytes_ false queue_in_bytes_ false mean_pktsize_ 1000
    q_weight_ 0.002 linterm_ 10 gentle_ true adaptive_ 0 wait_ true setbit_ false
    drop_tail_ true drop_rand_ false drop_front_ false ns1_compat_ false cautious_ 0
} { Queue/RED set $variable $value }
Queue/RED set thresh_ [expr {$o(buf) / 5}]
Queue/RED set maxthresh_ [expr {3 * $o(buf) / 5}]
foreach {variable value} {buckets_ 64 quantum_ 1000 mask_ 0} { Queue/DRR set $variable $value }
Queue/DRR set blimit_ [expr {$o(buf) * 1000}]

# --- Network: a sixth of the one-way delay on each access link ---------------------------------------------------------

set access_delay [expr {$o(rtt) / 12.0}]ms
set bottleneck_delay [expr {$o(rtt) / 3.0}]ms
set rate $o(bw)Mb
set left [$sim node]
set right [$sim node]
switch $o(queue) {
    droptail {
        $sim simplex-link $left $right $rate $bottleneck_delay DropTail
        # One packet fewer waits than the limit says.
        $sim queue-limit $left $right [expr {$o(buf) + 1}]
    }
    red {
        $sim simplex-link $left $right $rate $bottleneck_delay RED
        $sim queue-limit $left $right $o(buf)
    }
    drr { $sim simplex-link $left $right $rate $bottleneck_delay DRR }
    fq {
        Queue set limit_ 51
        $sim simplex-link $left $right $rate $bottleneck_delay FQ
        [$sim link $left $right] set drpT_ [$sim set nullAgent_]
    }
    default { puts stderr "unknown queue $o(queue)"; exit 2 }
}
$sim simplex-link $right $left $rate $bottleneck_delay DropTail
$sim queue-limit $right $left $unlimited

set all [expr {$o(n) + ($o(cbr) > 0)}]
for {set i 0} {$i < $all} {incr i} {
    set from($i) [$sim node]
    set to($i) [$sim node]
    foreach {a b} [list $from($i) $left $right $to($i)] {
        $sim duplex-link $a $b $o(acc)Mb $access_delay DropTail
        $sim queue-limit $a $b $unlimited
        $sim queue-limit $b $a $unlimited
    }
}

# FQ keeps its queues where no monitor sees them: only goodput is known there.
set monitored [expr {$o(queue) ne "fq"}]
if {$monitored} {
    set monitor [$sim makeflowmon Fid 256]
    $sim attach-fmon [$sim link $left $right] $monitor
    set waiting [new Integrator]
    $monitor set-pkts-integrator $waiting
}
if {$o(loss) > 0} {
    set model [new ErrorModel/Uniform $o(loss) pkt]
    $model set rate_ $o(loss)
    $model unit pkt
    set stream [new RNG]
    $stream seed [expr {5000 + $o(seed)}]
    set draw [new RandomVariable/Uniform]
    $draw use-rng $stream
    $model ranvar $draw
    $model drop-target [$sim set nullAgent_]
    $sim lossmodel $model $left $right
}

# --- Flows ----------------------------------------------------------------------------------------------------------

for {set i 0} {$i < $o(n)} {incr i} {
    set start [$starts uniform 0 5]
    if {$o(proto) eq "tfrc"} {
        set sender($i) [new Agent/TFRC]
        set receiver($i) [new Agent/TFRCSink]
    } else {
        set class [dict get {sack Sack1 newreno Newreno vegas Vegas reno Reno} $o(proto)]
        set kind [expr {$o(proto) eq "sack" ? "/Sack1" : ""}]
        set sender($i) [new Agent/TCP/$class]
        set receiver($i) [new Agent/TCPSink$kind[expr {$o(delack) ? "/DelAck" : ""}]]
    }
    $sender($i) set fid_ [expr {$i + 1}]
    $sim attach-agent $from($i) $sender($i)
    $sim attach-agent $to($i) $receiver($i)
    $sim connect $sender($i) $receiver($i)
    if {$o(proto) eq "tfrc"} {
        $sim at $start "$sender($i) start"
    } else {
        set bulk [new Application/FTP]
        $bulk attach-agent $sender($i)
        $sim at $start "$bulk start"
    }
}
if {$o(cbr) > 0} {
    set datagrams [new Agent/UDP]
    $datagrams set packetSize_ 1000
    $datagrams set fid_ [expr {$o(n) + 1}]
    set counter [new Agent/LossMonitor]
    $sim attach-agent $from($o(n)) $datagrams
    $sim attach-agent $to($o(n)) $counter
    $sim connect $datagrams $counter
    set constant [new Application/Traffic/CBR]
    foreach {variable value} [list packetSize_ 1000 rate_ $o(cbr)Mb random_ 0] { $constant set $variable $value }
    $constant attach-agent $datagrams
    $sim at [$starts uniform 0 5] "$constant start"
}

# --- Measurement: all counters at the begin and at the end; the difference is the row ----------------------------------

proc snapshot {which} {
    global sim o sender receiver monitored monitor waiting counter seen
    if {$monitored} {
        $waiting newpoint [$sim now] [$waiting set lasty_]
        set seen($which,queue) [$waiting set sum_]
        foreach name {parrivals_ pdrops_ bdepartures_} { set seen($which,$name) [$monitor set $name] }
        foreach flow [$monitor flows] { set seen($which,out,[$flow set flowid_]) [$flow set bdepartures_] }
    }
    for {set i 0} {$i < $o(n)} {incr i} {
        if {$o(proto) eq "tfrc"} {
            set seen($which,good,$i) [expr {1.0 * [$receiver($i) set bytes_]}]
        } else {
            set seen($which,good,$i) [expr {1000.0 * [$sender($i) set ack_]}]
            set seen($which,timeouts,$i) [$sender($i) set nrexmit_]
            set seen($which,retrans,$i) [$sender($i) set nrexmitpack_]
        }
    }
    if {$o(cbr) > 0} { set seen($which,good,$o(n)) [expr {1.0 * [$counter set bytes_]}] }
}
proc between {name} {
    global seen
    if {![info exists seen(end,$name)]} { return 0 }
    set before [expr {[info exists seen(begin,$name)] ? $seen(begin,$name) : 0}]
    set difference [expr {$seen(end,$name) - $before}]
    # Byte counters have 32 bits and wrap.
    return [expr {$difference < 0 ? $difference + 4294967296.0 : $difference}]
}
proc total {name count} {
    set sum 0
    for {set i 0} {$i < $count} {incr i} { set sum [expr {$sum + [between $name,$i]}] }
    return $sum
}
proc jain {values} {
    set sum 0.0
    set squares 0.0
    foreach x $values { set sum [expr {$sum + $x}]; set squares [expr {$squares + $x * $x}] }
    return [expr {$squares > 0 ? $sum * $sum / ([llength $values] * $squares) : 0}]
}
proc finish {} {
    global o all capacity monitored
    snapshot end
    set seconds [expr {1.0 * ($o(to) - $o(from))}]
    set goodput {}
    set through {}
    for {set i 0} {$i < $all} {incr i} {
        lappend goodput [expr {[between good,$i] * 8 / $seconds / 1e6}]
        lappend through [expr {[between out,[expr {$i + 1}]] * 8 / $seconds / 1e6}]
    }
    set line ""
    foreach name {proto queue n bw rtt buf jitter loss delack cbr seed} { append line "$name=$o($name) " }
    append line "goodput=[expr {[total good $all] * 8 / $seconds / 1e6}] jain_goodput=[jain $goodput]"
    append line " timeouts=[total timeouts $o(n)] retrans=[total retrans $o(n)]"
    if {$monitored} {
        set arrived [between parrivals_]
        append line " thr=[expr {[between bdepartures_] * 8 / $seconds / 1e6}]"
        append line " util=[expr {[between bdepartures_] * 8 / $seconds / $capacity}] jain_thr=[jain $through]"
        append line " lossrate=[expr {$arrived > 0 ? 1.0 * [between pdrops_] / $arrived : 0}]"
        append line " meanq=[expr {[between queue] / $seconds}]"
    }
    puts "$line flow_goodput=[join $goodput ,]"
    exit 0
}
$sim at $o(from) "snapshot begin"
$sim at $o(to) finish
$sim run
