package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/convene-go/convene/providers"
)

var requestChecks = []check{
	{"Messages", requestMessages},
	{"SystemBehindOthers", requestSystem},
	{"OneAttempt", requestOneAttempt},
	{"MaxTokens", requestMaxTokens},
	{"Temperature", requestTemperature},
	{"NoTemperature", requestNoTemperature},
	{"Output", requestOutput},
	{"Tools", requestTools},
}

func requestMessages(t testing.TB, open Open) {
	s := open(t, play(Answer))
	req := question()
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.Assistant, Text: "I have to think."},
		providers.Message{Role: providers.User, Text: "Take your time."})
	answered(t, s, req)
	var texts []string
	for _, m := range req.Messages {
		texts = append(texts, m.Text)
	}
	wantSent(t, s, 1, texts...)
	body := sent(t, s)[0]
	if strings.Index(body, prompt) > strings.Index(body, "Take your time.") {
		t.Errorf("the messages were sent in another order: %.2000s", body)
	}
}

// A system message after others reaches the vendor in its place, in whatever form the
// vendor takes it: not before the messages it follows, and not twice.
func requestSystem(t testing.TB, open Open) {
	s := open(t, play(ToolCalls))
	req := withTools()
	first := answered(t, s, req)
	req = withResults(req, first)
	const nudge, further = "nudge: does this serve the task?", "So far, so good."
	req.Messages = append(req.Messages, providers.Message{Role: providers.System, Text: nudge})
	answered(t, s, req)
	wantInOrder(t, sent(t, s)[1], instructions, resultWord+"-0", resultWord+"-1", nudge)
	req.Messages = append(req.Messages,
		providers.Message{Role: providers.Assistant, Text: further},
		providers.Message{Role: providers.System, Text: "nudge: go on."},
		providers.Message{Role: providers.User, Text: "Is it done?"})
	answered(t, s, req)
	wantInOrder(t, sent(t, s)[2], instructions, resultWord+"-1", nudge, further, "nudge: go on.", "Is it done?")
}

// wantInOrder requires each part once in a request, after the one before it.
func wantInOrder(t testing.TB, body string, parts ...string) {
	t.Helper()
	at := -1
	for _, part := range parts {
		switch found := strings.Index(body, part); {
		case strings.Count(body, part) != 1:
			t.Errorf("%q was sent %d times, want it once: %.2000s", part, strings.Count(body, part), body)
		case found < at:
			t.Errorf("%q was sent in front of what was said before it: %.2000s", part, body)
		default:
			at = found
		}
	}
}

func requestOneAttempt(t testing.TB, open Open) {
	s := open(t, play(Answer))
	answered(t, s, question())
	wantSent(t, s, 1)
}

func requestMaxTokens(t testing.TB, open Open) {
	s := open(t, play(Answer))
	req := question()
	req.MaxTokens = 4321
	answered(t, s, req)
	wantSent(t, s, 1, "4321")
}

// A model that takes no temperature leaves it out.
func requestTemperature(t testing.TB, open Open) {
	s := open(t, play(Answer))
	req := question()
	req.Temperature = new(0.25)
	answered(t, s, req)
	if body := sent(t, s)[0]; strings.Contains(strings.ToLower(body), "temperature") {
		wantSent(t, s, 1, "0.25")
	}
}

func requestNoTemperature(t testing.TB, open Open) {
	s := open(t, play(Answer))
	answered(t, s, question())
	if body := sent(t, s)[0]; strings.Contains(strings.ToLower(body), "temperature") {
		t.Errorf("a temperature was sent that the request does not have: %.2000s", body)
	}
}

func requestOutput(t testing.TB, open Open) {
	s := open(t, play(Answer))
	req := question()
	req.Output = json.RawMessage(`{"type":"object","properties":{"answerToEverything":{"type":"string"}},"required":["answerToEverything"],"additionalProperties":false}`)
	answered(t, s, req)
	wantSent(t, s, 1, "answerToEverything")
}

func requestTools(t testing.TB, open Open) {
	s := open(t, play(ToolCalls))
	req := withTools()
	answered(t, s, req)
	wantSent(t, s, 1, "weather", "place", "days", "clock", req.Tools[0].Description, req.Tools[1].Description)
}
