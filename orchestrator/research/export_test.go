package research

// Phases is the state machine of a run, and Move what it is told.
var Phases = phases

type Move = move
