# One run of one row of python/tailback/validation/reference/ns2.csv on ns-2 2.35; the README there explains the figures.
#
#   ns oracle.tcl ?key=value ...?      for example: ns oracle.tcl proto=sack queue=red n=64 bw=32 jitter=0.00025 seed=3
#
#   proto   sack newreno reno vegas tfrc cubic  queue   droptail red drr fq pi rem
#   n       flows                              bw      bottleneck, Mbit/s
#   rtt     propagation round trip, ms         acc     access links, Mbit/s
#   rttmax  of the last flow, spread evenly; 0: all have rtt
#   buf     waiting packets, 0: one BDP        seed    of the run
#   from,to the measured time, s               jitter  largest delay of a send opportunity, s
#   loss    probability before the queue       delack  1: acknowledge every second packet
#   cbr     a further constant-rate flow, Mbit/s
#   ecn     1: flows and queue mark            mode    of RED: gentle strict adaptive bytes
#   wnd,iw  window limit and initial window    limited 1: limited transmit
#   minrto  s                                  spread  flows start within so many seconds
#   size    packets per flow, 0: no end        reverse flows the other way, whose queue is limited, too
#   onoff   Pareto sources, each 0.5 s on at 1 Mbit/s and 0.5 s off in the mean, shape 1.5
#   hops    bottlenecks in a chain; with more than one, n further flows cross each of them
#   pkt     a packet's bytes, or several with commas between, of which the flows take theirs in turn
#   back    rate of the bottleneck's way back, Mbit/s, where acknowledgements then find a queue of buf; 0: as forward
#
# The groups of the table:   dumbbell   jitter=0, or 0.008/bw
#                            bernoulli  n=10 bw=100 rtt=100 acc=1000 buf=10000 to=520 loss=… delack=…
#                            fair       n=4 bw=10 cbr=4
#                            further    the options of the row
# Prints key=value pairs on one line.

array set o {
    proto sack queue droptail n 8 bw 10 rtt 60 rttmax 0 acc 100 buf 0 seed 1 from 20 to 120 jitter 0 loss 0 delack 0 cbr 0
    ecn 0 mode gentle wnd 10000 iw 2 limited 1 minrto 0.2 spread 5 size 0 reverse 0 onoff 0 hops 1
    pkt 1000 back 0
}
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
    tcpip_base_hdr_size_ 40 useHeaders_ true
    windowInitOption_ 1 maxburst_ 0
    maxrto_ 60 rtxcur_init_ 3.0 tcpTick_ 0.01
    timestamps_ false
} { Agent/TCP set $variable $value }
foreach {variable value} [list window_ $o(wnd) windowInit_ $o(iw) singledup_ $o(limited) minrto_ $o(minrto) \
    ecn_ $o(ecn) overhead_ $o(jitter)] { Agent/TCP set $variable $value }
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
    mean_pktsize_ 1000 q_weight_ 0.002 linterm_ 10 wait_ true
    drop_tail_ true drop_rand_ false drop_front_ false ns1_compat_ false cautious_ 0 use_mark_p_ false
} { Queue/RED set $variable $value }
foreach {variable value} [list gentle_ [expr {$o(mode) ne "strict"}] adaptive_ [expr {$o(mode) eq "adaptive"}] \
    bytes_ [expr {$o(mode) eq "bytes"}] queue_in_bytes_ [expr {$o(mode) eq "bytes"}] setbit_ $o(ecn)] {
    Queue/RED set $variable $value
}
Queue/RED set thresh_ [expr {$o(buf) / 5}]
Queue/RED set maxthresh_ [expr {3 * $o(buf) / 5}]
foreach {variable value} {buckets_ 64 quantum_ 1000 mask_ 0} { Queue/DRR set $variable $value }
Queue/DRR set blimit_ [expr {$o(buf) * 1000}]

# Both sample on timers of their own; gains of their papers, targets at half and a fifth of the buffer.
foreach {variable value} [list bytes_ false queue_in_bytes_ false a_ 0.00001822 b_ 0.00001816 w_ 160 \
    qref_ [expr {$o(buf) / 2}] mean_pktsize_ 1000 setbit_ $o(ecn)] { Queue/PI set $variable $value }
foreach {variable value} [list inw_ 0.01 gamma_ 0.001 phi_ 1.001 mean_pktsize_ 1000 pupdtime_ 0.002 \
    pbo_ [expr {$o(buf) / 5}] markpkts_ $o(ecn)] { Queue/REM set $variable $value }

# --- Network: a sixth of the one-way delay on each access link, unless round trip times differ --------------------------

set bottleneck_delay [expr {$o(rtt) / 3.0 / $o(hops)}]ms
set rate $o(bw)Mb
# A bottleneck with the discipline that was asked for.
proc bottleneck {a b} {
    global sim o rate bottleneck_delay
    set class [dict get {droptail DropTail red RED drr DRR fq FQ pi PI rem REM} $o(queue)]
    if {$o(queue) eq "fq"} { Queue set limit_ 51 }
    $sim simplex-link $a $b $rate $bottleneck_delay $class
    switch $o(queue) {
        droptail {
            # One packet fewer waits than the limit says.
            $sim queue-limit $a $b [expr {$o(buf) + 1}]
        }
        red - pi - rem { $sim queue-limit $a $b $o(buf) }
        fq { [$sim link $a $b] set drpT_ [$sim set nullAgent_] }
    }
}
for {set hop 0} {$hop <= $o(hops)} {incr hop} { set router($hop) [$sim node] }
for {set hop 0} {$hop < $o(hops)} {incr hop} {
    set a $router($hop)
    set b $router([expr {$hop + 1}])
    bottleneck $a $b
    if {$o(reverse)} {
        bottleneck $b $a
    } else {
        $sim simplex-link $b $a [expr {$o(back) > 0 ? $o(back) : $o(bw)}]Mb $bottleneck_delay DropTail
        $sim queue-limit $b $a [expr {$o(back) > 0 ? $o(buf) + 1 : $unlimited}]
    }
}
set left $router(0)
set right $router($o(hops))

# A host behind a router.
proc host {behind delay} {
    global sim o unlimited
    set node [$sim node]
    $sim duplex-link $node $behind $o(acc)Mb [expr {$delay}]ms DropTail
    $sim queue-limit $node $behind $unlimited
    $sim queue-limit $behind $node $unlimited
    return $node
}
set access_delay [expr {$o(rtt) / 12.0}]
# Flows in their order: the forward ones, the constant one or the on-off sources, those that cross each hop, the reverse.
set all 0
proc pair {a b extra} {
    global from to all access_delay
    set from($all) [host $a [expr {$access_delay + $extra}]]
    set to($all) [host $b $access_delay]
    incr all
}
for {set i 0} {$i < $o(n)} {incr i} {
    set step [expr {$o(rttmax) > 0 && $o(n) > 1 ? ($o(rttmax) - $o(rtt)) / 2.0 * $i / ($o(n) - 1) : 0}]
    pair $left $right $step
}
for {set i 0} {$i < ($o(cbr) > 0) + $o(onoff)} {incr i} { pair $left $right 0 }
set crossing $all
for {set hop 0} {$o(hops) > 1 && $hop < $o(hops)} {incr hop} {
    for {set i 0} {$i < $o(n)} {incr i} { pair $router($hop) $router([expr {$hop + 1}]) 0 }
}
for {set i 0} {$i < $o(reverse)} {incr i} { pair $right $left 0 }

# FQ keeps its queues where no monitor sees them: only goodput is known there.
set monitored [expr {$o(queue) ne "fq"}]
if {$monitored} {
    set monitor [$sim makeflowmon Fid 256]
    $sim attach-fmon [$sim link $left $router(1)] $monitor
    set waiting [new Integrator]
    $monitor set-pkts-integrator $waiting
}
if {$o(loss) > 0} {
    set stream [new RNG]
    $stream seed [expr {5000 + $o(seed)}]
    set model [new ErrorModel/Uniform $o(loss) pkt]
    $model set rate_ $o(loss)
    $model unit pkt
    set draw [new RandomVariable/Uniform]
    $draw use-rng $stream
    $model ranvar $draw
    $model drop-target [$sim set nullAgent_]
    $sim lossmodel $model $left $router(1)
}

# --- Flows ----------------------------------------------------------------------------------------------------------

# Whether a flow is one of the scheme's: neither constant nor on-off.
proc elastic {i} {
    global o crossing
    return [expr {$i < $o(n) || $i >= $crossing}]
}
for {set i 0} {$i < $all} {incr i} {
    if {![elastic $i]} { continue }
    set start [$starts uniform 0 $o(spread)]
    switch $o(proto) {
        tfrc {
            set sender($i) [new Agent/TFRC]
            set receiver($i) [new Agent/TFRCSink]
        }
        cubic {
            set sender($i) [new Agent/TCP/Linux]
            set receiver($i) [new Agent/TCPSink/Sack1[expr {$o(delack) ? "/DelAck" : ""}]]
        }
        default {
            set class [dict get {sack Sack1 newreno Newreno vegas Vegas reno Reno} $o(proto)]
            set kind [expr {$o(proto) eq "sack" ? "/Sack1" : ""}]
            set sender($i) [new Agent/TCP/$class]
            set receiver($i) [new Agent/TCPSink$kind[expr {$o(delack) ? "/DelAck" : ""}]]
        }
    }
    set size($i) [lindex [split $o(pkt) ,] [expr {$i % [llength [split $o(pkt) ,]]}]]
    # Vegas takes no notice of useHeaders_; TFRC has sizes of its own.
    if {$o(proto) ne "tfrc"} { $sender($i) set packetSize_ [expr {$o(proto) eq "vegas" ? $size($i) : $size($i) - 40}] }
    $sender($i) set fid_ [expr {$i + 1}]
    $sim attach-agent $from($i) $sender($i)
    $sim attach-agent $to($i) $receiver($i)
    $sim connect $sender($i) $receiver($i)
    if {$o(proto) eq "cubic"} { $sim at 0 "$sender($i) select_ca cubic" }
    if {$o(proto) eq "tfrc"} {
        $sim at $start "$sender($i) start"
    } elseif {$o(size)} {
        # The connection request is number 0; what is asked for comes on top of it.
        $sim at $start "$sender($i) advanceby $o(size)"
        set began($i) $start
        $sender($i) proc done {} "set ::completed($i) \[\$::sim now\]"
    } else {
        set bulk [new Application/FTP]
        $bulk attach-agent $sender($i)
        $sim at $start "$bulk start"
    }
}
for {set i $o(n)} {$i < $crossing} {incr i} {
    set datagrams [new Agent/UDP]
    $datagrams set packetSize_ 1000
    $datagrams set fid_ [expr {$i + 1}]
    set receiver($i) [new Agent/LossMonitor]
    $sim attach-agent $from($i) $datagrams
    $sim attach-agent $to($i) $receiver($i)
    $sim connect $datagrams $receiver($i)
    if {$o(cbr) > 0 && $i == $o(n)} {
        set source [new Application/Traffic/CBR]
        foreach {variable value} [list packetSize_ 1000 rate_ $o(cbr)Mb random_ 0] { $source set $variable $value }
    } else {
        set source [new Application/Traffic/Pareto]
        foreach {variable value} {packetSize_ 1000 rate_ 1Mb burst_time_ 500ms idle_time_ 500ms shape_ 1.5} {
            $source set $variable $value
        }
    }
    $source attach-agent $datagrams
    $sim at [$starts uniform 0 $o(spread)] "$source start"
}

# --- Measurement: all counters at the begin and at the end; the difference is the row ----------------------------------

proc snapshot {which} {
    global sim o all sender receiver monitored monitor waiting seen size
    if {$monitored} {
        $waiting newpoint [$sim now] [$waiting set lasty_]
        set seen($which,queue) [$waiting set sum_]
        foreach name {parrivals_ pdrops_ bdepartures_} { set seen($which,$name) [$monitor set $name] }
        foreach flow [$monitor flows] { set seen($which,out,[$flow set flowid_]) [$flow set bdepartures_] }
    }
    for {set i 0} {$i < $all} {incr i} {
        if {![elastic $i] || $o(proto) eq "tfrc"} {
            set seen($which,good,$i) [expr {1.0 * [$receiver($i) set bytes_]}]
        } else {
            set seen($which,good,$i) [expr {1.0 * $size($i) * [$sender($i) set ack_]}]
            set seen($which,timeouts,$i) [$sender($i) set nrexmit_]
            set seen($which,retrans,$i) [$sender($i) set nrexmitpack_]
        }
    }
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
    global o all crossing capacity monitored began completed
    snapshot end
    set seconds [expr {1.0 * ($o(to) - $o(from))}]
    set goodput {}
    set through {}
    for {set i 0} {$i < $all} {incr i} {
        lappend goodput [expr {[between good,$i] * 8 / $seconds / 1e6}]
        lappend through [expr {[between out,[expr {$i + 1}]] * 8 / $seconds / 1e6}]
    }
    set line ""
    foreach name [lsort [array names o]] { append line "$name=$o($name) " }
    append line "goodput=[expr {[total good $all] * 8 / $seconds / 1e6}] jain_goodput=[jain $goodput]"
    append line " timeouts=[total timeouts $all] retrans=[total retrans $all]"
    if {$monitored} {
        set arrived [between parrivals_]
        append line " thr=[expr {[between bdepartures_] * 8 / $seconds / 1e6}]"
        append line " util=[expr {[between bdepartures_] * 8 / $seconds / $capacity}] jain_thr=[jain $through]"
        append line " lossrate=[expr {$arrived > 0 ? 1.0 * [between pdrops_] / $arrived : 0}]"
        append line " meanq=[expr {[between queue] / $seconds}]"
    }
    # Goodput by kind of flow.
    array set sum {tcp 0 other 0 crossing 0 reverse 0}
    for {set i 0} {$i < $all} {incr i} {
        set kind [expr {$i < $o(n) ? "tcp" : $i < $crossing ? "other" : $i < $all - $o(reverse) ? "crossing" : "reverse"}]
        set sum($kind) [expr {$sum($kind) + [lindex $goodput $i]}]
    }
    foreach kind {tcp other crossing reverse} { append line " ${kind}_goodput=$sum($kind)" }
    if {$o(size)} {
        set seconds 0.0
        foreach i [array names completed] { set seconds [expr {$seconds + $completed($i) - $began($i)}] }
        append line " completed=[array size completed] completion=[expr {$seconds / max(1, [array size completed])}]"
    }
    puts "$line flow_goodput=[join $goodput ,]"
    exit 0
}
$sim at $o(from) "snapshot begin"
$sim at $o(to) finish
$sim run
