package auth

import (
	"encoding/binary"
	_ "unsafe" // for go:linkname

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/blake2b"
)

// argon2id (RFC 9106) as golang.org/x/crypto/argon2 computes it, with two differences that its interface does
// not allow: the memory is the caller's, so that a storm of sign-ins leaves nothing to the garbage collector,
// and all work is done by the calling goroutine, whose thread may have a low priority. The library starts a
// goroutine for each segment. What costs time, the compression of blocks, is the library's own; a test compares
// the results.

// memoryBlock is a block of 1,024 bytes.
type memoryBlock [128]uint64

// The library's compression G, with and without what is there already (RFC 9106 section 3.5). Should it
// lose them, linking fails.
//
//go:linkname compress golang.org/x/crypto/argon2.processBlock
//go:noescape
func compress(out, one, other *memoryBlock)

//go:linkname compressXOR golang.org/x/crypto/argon2.processBlockXOR
//go:noescape
func compressXOR(out, one, other *memoryBlock)

const (
	argonSlices = 4
	argonTypeID = 2
)

// argonRun is one computation. Lanes are gone through one after the other: within a slice they do not see
// each other, so the order does not matter.
type argonRun struct {
	memory                  []memoryBlock
	passes, lanes           uint32
	laneLength, sliceLength uint32
}

// argonBlocks is how many blocks a cost takes: a multiple of four for each lane.
func argonBlocks(cost HashCost) uint32 {
	step := argonSlices * uint32(cost.Parallelism)
	return max(cost.MemoryKiB/step*step, 2*step)
}

// argon2id fills memory, which has argonBlocks(cost) blocks, and returns the tag.
func argon2id(memory []memoryBlock, password, salt []byte, cost HashCost, size uint32) []byte {
	lanes := uint32(cost.Parallelism)
	r := argonRun{memory: memory, passes: cost.Time, lanes: lanes, laneLength: uint32(len(memory)) / lanes} // #nosec G115 -- bounded by maxHashCost
	r.sliceLength = r.laneLength / argonSlices
	r.begin(password, salt, cost, size)
	for pass := range r.passes {
		for slice := range uint32(argonSlices) {
			for lane := range lanes {
				r.fill(pass, slice, lane)
			}
		}
	}
	return r.end(size)
}

// begin makes the first two blocks of each lane from all the inputs (section 3.2, steps 1 to 4).
func (r *argonRun) begin(password, salt []byte, cost HashCost, size uint32) {
	var input []byte
	for _, number := range []uint32{r.lanes, size, cost.MemoryKiB, r.passes, argon2.Version, argonTypeID} {
		input = binary.LittleEndian.AppendUint32(input, number)
	}
	for _, part := range [][]byte{password, salt, nil, nil} { // no secret, no associated data
		input = binary.LittleEndian.AppendUint32(input, uint32(len(part))) // #nosec G115 -- bounded by maxPasswordBytes
		input = append(input, part...)
	}
	seed := blake2b.Sum512(input)
	for lane := range r.lanes {
		for column := range uint32(2) {
			from := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(seed[:len(seed):len(seed)], column), lane)
			block := longHash(from, 1024)
			for i := range r.memory[0] {
				r.memory[lane*r.laneLength+column][i] = binary.LittleEndian.Uint64(block[8*i:])
			}
		}
	}
}

// fill makes one slice of one lane (section 3.2, steps 5 and 6).
func (r *argonRun) fill(pass, slice, lane uint32) {
	var addresses, counter, zero memoryBlock
	independent := pass == 0 && slice < argonSlices/2 // the first half does not depend on the password
	counter = memoryBlock{uint64(pass), uint64(lane), uint64(slice), uint64(len(r.memory)), uint64(r.passes), argonTypeID}
	start := uint32(0)
	if pass == 0 && slice == 0 {
		start = 2
	}
	for index := start; index < r.sliceLength; index++ {
		column := slice*r.sliceLength + index
		at := lane*r.laneLength + column
		before := at - 1
		if column == 0 {
			before = at + r.laneLength - 1
		}
		random := r.memory[before][0]
		if independent {
			if index == start || index%uint32(len(addresses)) == 0 {
				counter[6]++
				compress(&addresses, &counter, &zero)
				compress(&addresses, &addresses, &zero)
			}
			random = addresses[index%uint32(len(addresses))]
		}
		other := r.reference(random, pass, slice, lane, index)
		if pass == 0 {
			compress(&r.memory[at], &r.memory[before], &r.memory[other])
		} else {
			compressXOR(&r.memory[at], &r.memory[before], &r.memory[other])
		}
	}
}

// reference chooses an earlier block (section 3.4).
func (r *argonRun) reference(random uint64, pass, slice, lane, index uint32) uint32 {
	from := uint32(random>>32) % r.lanes
	if pass == 0 && slice == 0 {
		from = lane
	}
	area, first := slice*r.sliceLength, uint32(0) // what is finished, and where it begins
	if pass > 0 {
		area, first = r.laneLength-r.sliceLength, (slice+1)%argonSlices*r.sliceLength
	}
	switch {
	case from == lane:
		area += index - 1
	case index == 0:
		area--
	}
	random &= 0xffffffff
	distance := uint64(area) * (random * random >> 32) >> 32 // the square favours what is near
	position := uint64(first) + uint64(area) - 1 - distance
	return from*r.laneLength + uint32(position%uint64(r.laneLength)) // #nosec G115 -- a remainder of 32 bits
}

// end makes the tag from the last blocks (section 3.2, steps 7 and 8).
func (r *argonRun) end(size uint32) []byte {
	last := r.memory[r.laneLength-1]
	for lane := uint32(1); lane < r.lanes; lane++ {
		for i, word := range r.memory[(lane+1)*r.laneLength-1] {
			last[i] ^= word
		}
	}
	var bytes []byte
	for _, word := range last {
		bytes = binary.LittleEndian.AppendUint64(bytes, word)
	}
	return longHash(bytes, size)
}

// longHash is BLAKE2b for any size of result (section 3.3).
func longHash(input []byte, size uint32) []byte {
	input = append(binary.LittleEndian.AppendUint32(nil, size), input...)
	var result []byte
	for rest := int(size); ; rest -= blake2b.Size / 2 {
		if rest <= blake2b.Size {
			return append(result, shortHash(input, rest)...)
		}
		input = shortHash(input, blake2b.Size)
		result = append(result, input[:blake2b.Size/2]...)
	}
}

func shortHash(input []byte, size int) []byte {
	h, err := blake2b.New(size, nil)
	if err != nil {
		panic(err) // sizes are 1 to 64, and there is no key
	}
	h.Write(input)
	return h.Sum(nil)
}
