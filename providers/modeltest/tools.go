package modeltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/convene-go/convene/providers"
)

var toolChecks = []check{
	{"Calls", toolCalls},
	{"StreamedCalls", toolStreamedCalls},
	{"RoundTrip", toolRoundTrip},
	{"Extra", toolExtra},
	{"Usage", toolUsage},
}

// wantCalls requires the calls that the stub made, each with a unique ID.
func wantCalls(t testing.TB, got providers.Response, want []providers.ToolCall) {
	t.Helper()
	if got.Stop != providers.StopTools {
		t.Errorf("Response.Stop is %q, want %q", got.Stop, providers.StopTools)
	}
	if len(got.ToolCalls) != len(want) {
		t.Fatalf("%d tool calls came, want %d", len(got.ToolCalls), len(want))
	}
	ids := map[string]bool{}
	for i, c := range got.ToolCalls {
		if c.Name != want[i].Name || !sameJSON(c.Input, want[i].Input) {
			t.Errorf("tool call %d is %s %s, want %s %s", i, c.Name, c.Input, want[i].Name, want[i].Input)
		}
		if c.ID == "" || ids[c.ID] {
			t.Errorf("tool call %d has the ID %q, want one of its own", i, c.ID)
		}
		ids[c.ID] = true
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func toolCalls(t testing.TB, open Open) {
	p := play(ToolCalls)
	wantCalls(t, answered(t, open(t, p), withTools()), p.ToolCalls)
}

func toolStreamedCalls(t testing.TB, open Open) {
	p := play(ToolCalls)
	req := withTools()
	var said strings.Builder
	req.OnText = func(chunk string) error {
		said.WriteString(chunk)
		return nil
	}
	got := answered(t, open(t, p), req)
	wantCalls(t, got, p.ToolCalls)
	if said.String() != got.Text {
		t.Errorf("OnText got %q, want Response.Text: %q", said.String(), got.Text)
	}
}

func toolRoundTrip(t testing.TB, open Open) {
	p := play(ToolCalls)
	s := open(t, p)
	req := withTools()
	first := answered(t, s, req)
	req = withResults(req, first)
	wantText(t, answered(t, s, req), p.Text, providers.StopEnd)
	parts := []string{"Oslo"}
	for i := range first.ToolCalls {
		parts = append(parts, fmt.Sprintf("%s-%d", resultWord, i))
	}
	wantSent(t, s, 2, parts...)
}

// ToolCall.Extra is sent back to the vendor.
func toolExtra(t testing.TB, open Open) {
	s := open(t, play(ToolCalls))
	req := withTools()
	first := answered(t, s, req)
	if !strings.Contains(fmt.Sprintf("%s", extras(first)), extraWord) {
		t.Skipf("the stub's format has no place for ToolCall.Extra")
	}
	answered(t, s, withResults(req, first))
	wantSent(t, s, 2, extraWord)
}

func extras(r providers.Response) []json.RawMessage {
	var out []json.RawMessage
	for _, c := range r.ToolCalls {
		out = append(out, c.Extra)
	}
	return out
}

func toolUsage(t testing.TB, open Open) {
	p := play(ToolCalls)
	wantUsage(t, answered(t, open(t, p), withTools()).Usage, p.Usage)
}
