package modeltest

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/convene-go/convene/providers"
)

var streamChecks = []check{
	{"ExactlyText", streamExactlyText},
	{"SameAnswer", streamSameAnswer},
	{"OneAttempt", streamOneAttempt},
	{"LengthStops", streamLength},
	{"ErrorEndsCall", streamErrorEndsCall},
	{"NothingAfterReturn", streamNothingAfterReturn},
	{"CutIsNoAnswer", streamCut},
}

// streamed is a question whose answer is gathered in said.
func streamed() (req providers.Request, said *strings.Builder) {
	req, said = question(), new(strings.Builder)
	req.OnText = func(chunk string) error {
		said.WriteString(chunk)
		return nil
	}
	return req, said
}

func streamExactlyText(t testing.TB, open Open) {
	p := play(Answer)
	req, said := streamed()
	got := answered(t, open(t, p), req)
	if said.String() != got.Text {
		t.Errorf("OnText got %q, want Response.Text: %q", said.String(), got.Text)
	}
	wantText(t, got, p.Text, providers.StopEnd)
}

func streamSameAnswer(t testing.TB, open Open) {
	p := play(Answer)
	req, _ := streamed()
	got := answered(t, open(t, p), req)
	wantUsage(t, got.Usage, p.Usage)
	if _, err := providers.ParseSpec(got.Model); err != nil {
		t.Errorf("Response.Model is %q, want provider:name: %v", got.Model, err)
	}
}

func streamOneAttempt(t testing.TB, open Open) {
	s := open(t, play(Answer))
	req, _ := streamed()
	answered(t, s, req)
	wantSent(t, s, 1)
}

func streamLength(t testing.TB, open Open) {
	p := play(Length)
	req, said := streamed()
	req.MaxTokens = int(p.Usage.Output)
	wantText(t, answered(t, open(t, p), req), p.Text, providers.StopLength)
	if said.String() != p.Text {
		t.Errorf("OnText got %q, want %q", said.String(), p.Text)
	}
}

func streamErrorEndsCall(t testing.TB, open Open) {
	s := open(t, play(Answer))
	enough := errors.New("that is enough")
	chunks := 0
	req := question()
	req.OnText = func(string) error {
		chunks++
		return enough
	}
	r := ask(t.Context(), t, s, req)
	_ = wantFailure(t, s, r, providers.Canceled)
	if !errors.Is(r.err, enough) {
		t.Errorf("Generate = %v, want an error that wraps what OnText returned", r.err)
	}
	if chunks != 1 {
		t.Errorf("OnText was called %d times, want no call after it returned an error", chunks)
	}
}

func streamNothingAfterReturn(t testing.TB, open Open) {
	s := open(t, play(Answer))
	var over, late atomic.Bool
	req := question()
	req.OnText = func(string) error {
		if over.Load() {
			late.Store(true)
		}
		return nil
	}
	answered(t, s, req)
	over.Store(true)
	for range 3 { // a goroutine that was left running has time to be seen
		answered(t, s, question())
	}
	if late.Load() {
		t.Errorf("OnText was called after Generate had returned")
	}
}

func streamCut(t testing.TB, open Open) {
	s := open(t, play(Cut))
	req, _ := streamed()
	_ = refused(t, s, req, providers.Transient)
}
