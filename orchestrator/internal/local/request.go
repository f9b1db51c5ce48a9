package local

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// requestHash is what the log knows of a request: what was asked of whom. How it
// was asked, its Limits, may change.
func requestHash(name string, req agent.Request) string {
	var scratch [512]byte
	b := field(scratch[:0], name)
	b = field(b, req.Op)
	b = field(b, req.Prompt)
	b = binary.AppendUvarint(b, uint64(len(req.History)))
	for _, m := range req.History {
		b = message(b, m)
	}
	b = field(b, string(req.Input))
	b = field(b, string(req.Output))
	if req.Temperature != nil {
		b = binary.BigEndian.AppendUint64(append(b, 1), math.Float64bits(*req.Temperature))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func field(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func message(b []byte, m providers.Message) []byte {
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
	return b
}

// keepRequest keeps what is asked as blobs, one for each message and one for the
// rest, so that a growing conversation is kept once. It returns their hashes, the
// rest first.
func keepRequest(ctx context.Context, blobs blackboard.Blobs, run string, req agent.Request) ([]string, error) {
	rest := req
	rest.History, rest.Limits = nil, agent.Limits{}
	parts := []any{rest}
	for _, m := range req.History {
		parts = append(parts, m)
	}
	hashes := make([]string, len(parts))
	for i, p := range parts {
		data, err := engine.Encode(p)
		if err != nil {
			return nil, err
		}
		if hashes[i], err = blobs.PutBlob(context.WithoutCancel(ctx), run, data); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// difference shows what was asked then and what is asked now, if the requests were
// recorded.
func (r *run) difference(rec blackboard.Record, op *engine.Op) string {
	now, err := engine.Encode(agent.Request{Op: op.Request.Op, Prompt: op.Request.Prompt, Input: op.Request.Input, Output: op.Request.Output, Temperature: op.Request.Temperature})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("recorded was %s, now it is %s", r.requestOf(rec), cut(string(now)))
}

// requestOf is the recorded request of rec but for its history, or its hash.
func (r *run) requestOf(rec blackboard.Record) string {
	var d engine.CalledData
	if r.e.blobs == nil || decode(rec.Data, &d) != nil || len(d.Request) == 0 {
		return "hash " + rec.Hash
	}
	data, err := r.e.blobs.Blob(r.ctx, r.id, d.Request[0])
	if err != nil {
		return "hash " + rec.Hash
	}
	return cut(string(data))
}

func cut(s string) string {
	const most = 400
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
