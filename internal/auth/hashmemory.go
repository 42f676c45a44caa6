package auth

import "runtime"

// hashMemory is what one hash needs at a time. It is kept and used again, and lies outside of the Go heap where
// that can be done: there it would make the garbage collector let twice as much garbage pile up.
type hashMemory struct{ blocks []memoryBlock }

// newHashMemory returns memory that is given back to the system once nobody has it any more.
func newHashMemory(blocks uint32) *hashMemory {
	mapped, release := mapBlocks(blocks)
	if mapped == nil {
		return &hashMemory{blocks: make([]memoryBlock, blocks)}
	}
	memory := &hashMemory{blocks: mapped}
	runtime.AddCleanup(memory, func(release func()) { release() }, release)
	return memory
}

// withMemory lends work the memory that a cost takes. There are as many memories as hashes at a time.
func (p *Passwords) withMemory(cost HashCost, work func([]memoryBlock)) {
	var memory *hashMemory
	select {
	case memory = <-p.memories:
	default:
		memory = newHashMemory(argonBlocks(p.cost))
	}
	if need := argonBlocks(cost); int(need) <= len(memory.blocks) {
		work(memory.blocks[:need])
	} else { // a stored hash that costs more than today's setting
		work(make([]memoryBlock, need))
	}
	select {
	case p.memories <- memory:
	default:
	}
}
