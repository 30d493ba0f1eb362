package sqs

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// A handle is a receipt handle: one delivery of one message from one queue. It is
// opaque text for clients, with a checksum to distinguish garbage from old handles.
type handle struct {
	queue      string // key of the queue
	message    string // id of the message
	generation uint64
}

func (h handle) String() string {
	text := h.queue + "\x00" + h.message
	b := binary.BigEndian.AppendUint64([]byte(text), h.generation)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.StdEncoding.EncodeToString(b)
}

// parseHandle reads a receipt handle of the queue with that key.
func parseHandle(text, queue string) (handle, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	const tail = 8 + 4
	if err != nil || len(b) < tail || crc32.ChecksumIEEE(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return handle{}, errHandle(text)
	}
	key, id, ok := strings.Cut(string(b[:len(b)-tail]), "\x00")
	if !ok || key != queue {
		return handle{}, errHandle(text)
	}
	return handle{queue: key, message: id, generation: binary.BigEndian.Uint64(b[len(b)-tail:])}, nil
}
