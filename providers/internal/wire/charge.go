package wire

import (
	"errors"

	"github.com/convene-go/convene/providers"
)

// Bytes that are taken for one token where the vendor does not count.
const (
	textPerToken   = 4   // in words and in an answer that comes as one
	streamPerToken = 250 // in a stream of events
)

// charged is the usage of a call that failed with err: as the vendor says, or estimated.
// A vendor charges for an answer once it has begun, whether or not it can be read. It
// charges nothing for a refusal, and a page is none of a vendor's.
func (ex *exchange) charged(err error) providers.Usage {
	a := &ex.answer
	u := a.Usage
	known := u != (providers.Usage{})
	switch {
	case ex.status < 200 || ex.status > 299, errors.As(err, new(pageError)):
		return u
	case errors.As(err, new(*Said)) && a.heard == 0:
		return u
	case known && (!ex.streamed || a.Stop != ""):
		return u
	}
	if u.Input == 0 {
		u.Input = 1 + sizeOf(ex.req)/textPerToken
	}
	u.Output = max(u.Output, ex.heard())
	return u
}

// heard estimates the tokens of what came of an answer, at most those that were asked for.
func (ex *exchange) heard() int64 {
	n := ex.received / streamPerToken
	switch {
	case ex.answer.heard > 0:
		n = 1 + int64(ex.answer.heard)/textPerToken
	case !ex.streamed && ex.received > 0:
		n = 1 + ex.received/textPerToken
	}
	if most := int64(ex.req.MaxTokens); most > 0 {
		n = min(n, most)
	}
	return n
}

// sizeOf is how many bytes of text a request has.
func sizeOf(req providers.Request) int64 {
	n := len(req.Output)
	for _, m := range req.Messages {
		n += len(m.Text)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Input)
		}
		for _, p := range m.Parts {
			n += len(p.Text)
		}
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return int64(n)
}
