package modeltest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/convene-go/convene/providers"
)

var ownershipChecks = []check{
	{"ChangesNothing", ownershipChangesNothing},
	{"KeepsNothing", ownershipKeepsNothing},
	{"ResponseIsTheCallers", ownershipResponse},
}

// full is a request with all fields, and with free capacity in its slices.
func full() providers.Request {
	req := withTools()
	req.Messages = append(make([]providers.Message, 0, 8), req.Messages...)
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.Assistant, ToolCalls: []providers.ToolCall{{ID: "call-x", Name: "clock", Input: json.RawMessage(`{}`)}}},
		providers.Message{Role: providers.ToolRole, ToolID: "call-x", Text: "It is noon: " + resultWord})
	req.Tools = append(make([]providers.Tool, 0, 4), req.Tools...)
	req.Output = append(make(json.RawMessage, 0, 64), `{"type":"object"}`...)
	req.MaxTokens, req.Temperature = 500, new(0.5)
	return req
}

// show prints all of a request, with the free capacity of its slices.
func show(r providers.Request) string {
	return fmt.Sprintf("%+v %+v %q %s %d %v", r.Messages[:cap(r.Messages)], r.Tools[:cap(r.Tools)],
		r.ToolChoice, r.Output[:cap(r.Output)], r.MaxTokens, *r.Temperature)
}

func ownershipChangesNothing(t testing.TB, open Open) {
	s := open(t, play(ToolCalls))
	req := full()
	before := show(req)
	answered(t, s, req)
	if after := show(req); after != before {
		t.Errorf("Generate has changed the request, or what is behind its slices:\nbefore: %s\n after: %s", before, after)
	}
}

// The race detector also sees a model that still reads afterwards.
func ownershipKeepsNothing(t testing.TB, open Open) {
	s := open(t, play(Echo))
	req, _ := echo(1)
	for n := range 3 {
		_, word := echo(n)
		req.Messages[1].Text = "Repeat the word " + word + " and nothing else." // owned by the caller again
		wantText(t, answered(t, s, req), word, providers.StopEnd)
	}
}

func ownershipResponse(t testing.TB, open Open) {
	p := play(ToolCalls)
	s := open(t, p)
	for range 2 {
		got := answered(t, s, withTools())
		wantCalls(t, got, p.ToolCalls)
		for i := range got.ToolCalls {
			for j := range got.ToolCalls[i].Input {
				got.ToolCalls[i].Input[j] = ' '
			}
			got.ToolCalls[i].Name = ""
		}
	}
}
