package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// RequestHash is the hash of an agent's name and a request, Limits and Task excluded:
// these may change between a run and its resumption.
func RequestHash(name string, req *agent.Request) string {
	var scratch [512]byte
	b := field(scratch[:0], name)
	b = field(b, req.Op)
	b = field(b, req.Prompt)
	b = binary.AppendUvarint(b, uint64(len(req.History)))
	for i := range req.History {
		b = message(b, &req.History[i])
	}
	b = field(b, string(req.Input))
	b = field(b, string(req.Output))
	if req.Temperature != nil {
		b = binary.BigEndian.AppendUint64(append(b, 1), math.Float64bits(*req.Temperature))
	}
	if len(req.Parts) > 0 {
		b = parts(b, req.Parts)
	}
	if params := reflect.ValueOf(req.Params); !params.IsZero() {
		data, _ := json.Marshal(req.Params) // a failure is ignored: Params without a JSON form cannot be recorded either
		b = field(binary.AppendUvarint(b, paramsMark), string(data))
	}
	if req.Folded != 0 {
		b = binary.AppendVarint(binary.AppendUvarint(b, foldedMark), int64(req.Folded))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func field(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func message(b []byte, m *providers.Message) []byte {
	b = field(b, string(m.Role))
	b = field(b, m.Text)
	b = field(b, m.ToolID)
	b = binary.AppendUvarint(b, uint64(len(m.ToolCalls)))
	for _, t := range m.ToolCalls {
		b = field(b, t.ID)
		b = field(b, t.Name)
		b = field(b, string(t.Input))
		b = field(b, string(t.Extra))
	}
	return parts(b, m.Parts)
}

// Marks of what a request need not have. No text is as long as they say, so none is
// taken for one.
const (
	partsMark  = 1 << 40
	paramsMark = 1 << 41
	foldedMark = 1 << 42
)

// parts adds what is there: without parts a hash is as it was before there were any.
func parts(b []byte, parts []providers.Part) []byte {
	if len(parts) == 0 {
		return b
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, partsMark), uint64(len(parts)))
	for _, p := range parts {
		for _, s := range []string{string(p.Kind), p.Text, string(p.Data), p.URL, p.Media, p.Name} {
			b = field(b, s)
		}
	}
	return b
}

// SplitRequest is req in parts, each to be kept once by its hash, so that a
// conversation that grows costs only what is new: first the request without its
// History and Limits, then every message of the History. [JoinRequest] is its inverse.
func SplitRequest(req *agent.Request) ([]json.RawMessage, error) {
	rest := *req
	rest.History, rest.Limits = nil, agent.Limits{}
	first, err := Encode(rest)
	if err != nil {
		return nil, err
	}
	parts := []json.RawMessage{first}
	for _, m := range req.History {
		part, err := Encode(m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// JoinRequest returns the request that [SplitRequest] made parts of, with limits. It has
// the form in which it is read back from a log: JSON inside it is compact, and text is
// valid UTF-8. A request in that form has the [RequestHash] that it had before.
//
// No parts, and a part that is not JSON of a request or a message, are an error.
func JoinRequest(parts []json.RawMessage, limits agent.Limits) (*agent.Request, error) {
	if len(parts) == 0 {
		return nil, errors.New("engine: a request has no parts")
	}
	req := &agent.Request{}
	if err := json.Unmarshal(parts[0], req); err != nil {
		return nil, fmt.Errorf("engine: the first part of a request: %w", err)
	}
	req.Limits, req.History = limits, nil
	for i, part := range parts[1:] {
		var m providers.Message
		if err := json.Unmarshal(part, &m); err != nil {
			return nil, fmt.Errorf("engine: message %d of a request: %w", i, err)
		}
		req.History = append(req.History, m)
	}
	return req, nil
}
