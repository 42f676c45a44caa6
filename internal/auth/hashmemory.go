package auth

import "time"

// hashMemory is what one hash needs at a time. It is kept and used again, and lies outside of the Go heap where
// that can be done: there it would make the garbage collector let twice as much garbage pile up.
type hashMemory struct {
	blocks  []memoryBlock
	release func()
}

// hashQuiet is how long after the last hash all memory is given back to the system, which wipes it: what is in it
// comes from passwords.
const hashQuiet = time.Minute

func newHashMemory(blocks uint32) *hashMemory {
	mapped, release := mapBlocks(blocks)
	if mapped == nil {
		return &hashMemory{make([]memoryBlock, blocks), func() {}}
	}
	return &hashMemory{mapped, release}
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
		p.quiet.Reset(hashQuiet)
	default:
		memory.release()
	}
}

// giveBack releases what nobody uses now.
func (p *Passwords) giveBack() {
	for {
		select {
		case memory := <-p.memories:
			memory.release()
		default:
			return
		}
	}
}
