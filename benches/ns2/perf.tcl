# The speed scenarios P1 to P4 for ns-2 2.35, the same as crates/sim/examples/perf.rs: counters only, no traces.
#
#   ns perf.tcl P1|P2|P3|P4 ?hdr=min|all? ?routing=static|manual? ?proto=sack|vegas? ?seconds=S? ?seed=N?
#
# Prints one line of key=value pairs. Three settings matter for speed and none for results:
#   hdr=min         a packet carries the three headers these runs use rather than every protocol's
#   routing=manual  routes are entered by hand rather than computed for all pairs of nodes
#   the scheduler   ns-2's default, a calendar queue, was the fastest of the five

set name [lindex $argv 0]
array set option {hdr min routing static proto sack seconds 0 seed 1}
foreach pair [lrange $argv 1 end] {
    lassign [split $pair =] key value
    if {![info exists option($key)]} { puts stderr "unknown option $key; known: [array names option]"; exit 2 }
    set option($key) $value
}
if {$option(hdr) eq "min"} {
    remove-all-packet-headers
    # Without Flags, ns-2 runs to the end and prints wrong numbers.
    add-packet-header IP TCP Flags
}

set sim [new Simulator]
$sim use-scheduler Calendar
$defaultRNG seed $option(seed)
set starts [new RNG]
$starts seed [expr {100 + $option(seed)}]
if {$option(routing) eq "manual"} { $sim rtproto Manual }

# 1000 bytes on the wire per data packet, 40 per acknowledgement, one acknowledgement per packet.
Agent/TCP set packetSize_ 960
Agent/TCPSink set packetSize_ 40
set unlimited 1000000

proc link {a b rate delay} {
    global sim unlimited
    $sim duplex-link $a $b $rate $delay DropTail
    $sim queue-limit $a $b $unlimited
    $sim queue-limit $b $a $unlimited
}
# ns-2's drop-tail queue keeps one packet fewer waiting than its limit says.
proc bottleneck {a b rate delay waiting} {
    global sim
    link $a $b $rate $delay
    $sim queue-limit $a $b [expr {$waiting + 1}]
    # As bins and counters are on in Tailback, the queue's counters are on here.
    set monitor [new QueueMonitor]
    set drops [new SnoopQueue/Drop]
    [$sim link $a $b] attach-monitors [new SnoopQueue/In] [new SnoopQueue/Out] $drops $monitor
    [[$sim link $a $b] queue] drop-target $drops
    return $monitor
}
proc default_route {node via} { [$node get-module Manual] add-route-to-adj-node -default $via }
proc neighbour_route {node via} { [$node get-module Manual] add-route-to-adj-node $via }

set senders {}
proc flow {from to} {
    global sim option starts senders
    if {$option(proto) eq "vegas"} {
        set source [new Agent/TCP/Vegas]
        # Vegas adds no header bytes of its own.
        $source set packetSize_ 1000
        set sink [new Agent/TCPSink]
    } else {
        set source [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
    }
    $source set fid_ [llength $senders]
    $sim attach-agent $from $source
    $sim attach-agent $to $sink
    $sim connect $source $sink
    set bulk [new Application/FTP]
    $bulk attach-agent $source
    $sim at [$starts uniform 0 5] "$bulk start"
    lappend senders $source
}

# One bottleneck of 20 ms; sender i behind 1 + 9i/(N-1) ms, receivers behind 1 ms.
proc dumbbell {flows rate waiting access} {
    global sim option
    set left [$sim node]
    set right [$sim node]
    set monitor [bottleneck $left $right $rate 20ms $waiting]
    for {set i 0} {$i < $flows} {incr i} {
        set from($i) [$sim node]
        set to($i) [$sim node]
        link $from($i) $left $access [expr {1.0 + 9.0 * $i / ($flows - 1)}]ms
        link $right $to($i) $access 1ms
    }
    if {$option(routing) eq "manual"} {
        default_route $left $right
        default_route $right $left
        for {set i 0} {$i < $flows} {incr i} {
            default_route $from($i) $left
            default_route $to($i) $right
            neighbour_route $left $from($i)
            neighbour_route $right $to($i)
        }
    }
    for {set i 0} {$i < $flows} {incr i} { flow $from($i) $to($i) }
    return [list $monitor]
}

# Six routers in a row, five bottlenecks; three flows along all of them and three along each.
proc parking_lot {} {
    global sim
    for {set i 0} {$i < 6} {incr i} { set router($i) [$sim node] }
    set monitors {}
    for {set i 0} {$i < 5} {incr i} {
        lappend monitors [bottleneck $router($i) $router([expr {$i + 1}]) 100Mb 4ms 100]
    }
    set pairs {}
    for {set k 0} {$k < 3} {incr k} { lappend pairs 0 5 }
    for {set i 0} {$i < 5} {incr i} { for {set k 0} {$k < 3} {incr k} { lappend pairs $i [expr {$i + 1}] } }
    foreach {a b} $pairs {
        set from [$sim node]
        set to [$sim node]
        link $from $router($a) 1Gb 1ms
        link $to $router($b) 1Gb 1ms
        flow $from $to
    }
    return $monitors
}

Agent/TCP set window_ 1000
switch $name {
    P1 { set seconds 200; set monitors [dumbbell 64 32Mb 50 100Mb] }
    P2 { set seconds 20; set monitors [dumbbell 1000 1Gb 2000 100Mb] }
    P3 { set seconds 10; Agent/TCP set window_ 20000; set monitors [dumbbell 10 10Gb 66250 10Gb] }
    P4 { set seconds 50; set monitors [parking_lot] }
    default { puts stderr "unknown scenario '$name'; known: P1 P2 P3 P4"; exit 2 }
}
if {$option(seconds) > 0} { set seconds $option(seconds) }

proc finish {} {
    global senders monitors seconds name
    set departed 0
    set dropped 0
    foreach monitor $monitors {
        incr departed [expr {int([$monitor set pdepartures_])}]
        incr dropped [expr {int([$monitor set pdrops_])}]
    }
    set delivered 0
    set timeouts 0
    foreach sender $senders {
        incr delivered [expr {[$sender set ack_] + 1}]
        incr timeouts [$sender set nrexmit_]
    }
    puts "scenario=$name seconds=$seconds delivered=$delivered dropped=$dropped departed=$departed timeouts=$timeouts"
    exit 0
}
$sim at $seconds finish
$sim run
