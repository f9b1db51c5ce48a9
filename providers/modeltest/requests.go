package modeltest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/convene-go/convene/providers"
)

var requestChecks = []check{
	{"Messages", requestMessages},
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
