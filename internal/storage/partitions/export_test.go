package partitions

// Bound is one step of Divide, which another replica may overtake.
var Bound = bound
