package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/failtest"
	"github.com/convene-go/convene/providers/modeltest"
)

// A model of every vendor, and one of each generation of Claude, keeps the promises
// of all models.
func TestModel(t *testing.T) {
	all := everyone
	for _, model := range []string{"claude-sonnet-5-5", "claude-opus-4-1"} {
		v := claudes
		v.model = model
		all = append(slices.Clip(all), v)
	}
	for _, v := range all {
		for _, shape := range []string{"streamed", "whole"} {
			t.Run(v.name+" "+v.model+" "+shape, func(t *testing.T) {
				modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
					if shape == "whole" && p.Situation == modeltest.Stall {
						t.Skip("what does not stream does not stall")
					}
					s, spec := v.serve(t, v.plays(p, shape))
					return modeltest.Subject{Model: open(t, spec), Sent: s.requests, Secrets: []string{secret}}
				})
			})
		}
	}
}

// plays does what the suite wants, as a server that streams or one that does not.
func (v vendor) plays(p modeltest.Play, shape string) http.HandlerFunc {
	refuse := func(status int, w trouble, message string) http.HandlerFunc {
		return reply(status, v.failure(status, w, message+" "+secret))
	}
	switch p.Situation {
	case modeltest.RateLimited:
		var headers []string
		if p.RetryAfter > 0 {
			headers = []string{"Retry-After", fmt.Sprint(p.RetryAfter.Seconds())}
		}
		return reply(429, v.failure(429, limited, p.Text), headers...)
	case modeltest.Quota:
		return refuse(429, spent, "Your credit balance is too low. "+p.Text)
	case modeltest.Unauthorized:
		return refuse(401, unknown, p.Text)
	case modeltest.TooLong:
		return refuse(400, tooLong, "prompt is too long: "+p.Text)
	case modeltest.BadRequest:
		return refuse(400, odd, p.Text)
	case modeltest.Overloaded:
		return refuse(529, overload, p.Text)
	case modeltest.Broken:
		return refuse(500, broken, p.Text)
	case modeltest.Slow:
		return failtest.Stall("", "")
	case modeltest.Garbled:
		label := map[string]string{"streamed": "text/event-stream", "whole": "application/json"}[shape]
		return labeled(label, v.body(said{text: p.Text})[:20]+"\x00\xff")
	case modeltest.Page:
		return labeled("text/html", p.Text)
	case modeltest.Answer, modeltest.Echo, modeltest.ToolCalls, modeltest.Length, modeltest.Refusal,
		modeltest.Empty, modeltest.Cut, modeltest.Stall:
	}
	return func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		v.answer(p, string(data), shape)(w, r)
	}
}

func (v vendor) answer(p modeltest.Play, request, shape string) http.HandlerFunc {
	text, calls := p.Reply(request)
	s := said{text: text, calls: calls, stop: providers.StopEnd, used: &p.Usage}
	switch {
	case p.Situation == modeltest.Length:
		s.stop = providers.StopLength
	case p.Situation == modeltest.Refusal && v.claude:
		s.stop = providers.StopFilter
	case p.Situation == modeltest.Refusal:
		s.text, s.refusal = "", text
	case len(calls) > 0:
		s.stop = providers.StopTools
	}
	if shape == "whole" {
		if body := v.body(s); p.Situation == modeltest.Cut {
			return failtest.Cut("application/json", body[:len(body)/2])
		}
		return reply(200, v.body(s))
	}
	pieces := v.piecesOf(modeltest.Chunks(text), s)
	if s.refusal != "" && v.responses {
		pieces = []string{`{"type":"response.refusal.delta","delta":` + written(text) + `}`, v.finished(s)}
	} else if s.refusal != "" {
		pieces = []string{`{"choices":[{"delta":{"refusal":` + written(text) + `}}]}`, v.finish(s.stop), "[DONE]"}
	}
	first := "data: " + strings.Join(pieces[:min(4, len(pieces))], "\n\ndata: ") + "\n\n"
	switch p.Situation { //nolint:exhaustive // all others answer to the end
	case modeltest.Cut:
		return failtest.Cut("text/event-stream", first)
	case modeltest.Stall:
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	return events(pieces...)
}
