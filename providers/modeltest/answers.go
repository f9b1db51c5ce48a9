package modeltest

import (
	"testing"

	"github.com/convene-go/convene/providers"
)

var answerChecks = []check{
	{"Text", answerText},
	{"Usage", answerUsage},
	{"Name", answerName},
	{"LengthStops", answerLength},
	{"Refusal", answerRefusal},
	{"Conversation", answerConversation},
	{"NoInstructions", answerNoInstructions},
}

// wantText requires an answer of only a text.
func wantText(t testing.TB, got providers.Response, text string, stop providers.Stop) {
	t.Helper()
	if got.Text != text {
		t.Errorf("Response.Text is %q, want %q", got.Text, text)
	}
	if got.Stop != stop {
		t.Errorf("Response.Stop is %q, want %q", got.Stop, stop)
	}
	if len(got.ToolCalls) > 0 {
		t.Errorf("Response.ToolCalls are %+v, want none", got.ToolCalls)
	}
}

func answerText(t testing.TB, open Open) {
	p := play(Answer)
	wantText(t, answered(t, open(t, p), question()), p.Text, providers.StopEnd)
}

func answerUsage(t testing.TB, open Open) {
	p := play(Answer)
	wantUsage(t, answered(t, open(t, p), question()).Usage, p.Usage)
}

// wantUsage requires the tokens that the stub reported. Not every vendor says how many
// were cached or spent on reasoning.
func wantUsage(t testing.TB, got, want providers.Usage) {
	t.Helper()
	if got.Input != want.Input || got.Output != want.Output {
		t.Errorf("Usage has Input %d and Output %d, want %d and %d", got.Input, got.Output, want.Input, want.Output)
	}
	if got.CacheRead != 0 && got.CacheRead != want.CacheRead {
		t.Errorf("Usage.CacheRead is %d, want %d, or 0 if the vendor does not say", got.CacheRead, want.CacheRead)
	}
	if got.Reasoning != 0 && got.Reasoning != want.Reasoning {
		t.Errorf("Usage.Reasoning is %d, want %d, or 0 if the vendor does not say", got.Reasoning, want.Reasoning)
	}
	if got.Calls > 1 || got.ToolCalls != 0 || got.CacheWrite != 0 {
		t.Errorf("Usage is %+v: it counts what was not used", got)
	}
}

func answerName(t testing.TB, open Open) {
	got := answered(t, open(t, play(Answer)), question())
	if _, err := providers.ParseSpec(got.Model); err != nil {
		t.Errorf("Response.Model is %q, want provider:name: %v", got.Model, err)
	}
}

func answerLength(t testing.TB, open Open) {
	p := play(Length)
	req := question()
	req.MaxTokens = int(p.Usage.Output)
	wantText(t, answered(t, open(t, p), req), p.Text, providers.StopLength)
}

func answerRefusal(t testing.TB, open Open) {
	p := play(Refusal)
	got := answered(t, open(t, p), question())
	if got.Stop != providers.StopFilter {
		t.Errorf("Response.Stop of a refusal is %q, want %q", got.Stop, providers.StopFilter)
	}
	if got.Text != "" && got.Text != p.Text {
		t.Errorf("Response.Text of a refusal is %q, want %q or none", got.Text, p.Text)
	}
}

func answerConversation(t testing.TB, open Open) {
	p := play(Answer)
	req := question()
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.Assistant, Text: "I have to think."},
		providers.Message{Role: providers.User, Text: "Take your time."},
		providers.Message{Role: providers.User, Text: "But not for ever."})
	wantText(t, answered(t, open(t, p), req), p.Text, providers.StopEnd)
}

func answerNoInstructions(t testing.TB, open Open) {
	p := play(Answer)
	req := question()
	req.Messages = req.Messages[1:]
	wantText(t, answered(t, open(t, p), req), p.Text, providers.StopEnd)
}
