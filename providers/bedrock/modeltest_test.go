package bedrock_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/convene-go/convene/providers/internal/failtest"
	"github.com/convene-go/convene/providers/modeltest"
)

func TestModel(t *testing.T) {
	for name, f := range families {
		for _, shape := range []string{"streamed", "whole"} {
			t.Run(name+" "+shape, func(t *testing.T) {
				modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
					if shape == "whole" && p.Situation == modeltest.Stall {
						t.Skip("what does not stream does not stall")
					}
					s := serve(t, f.plays(p, shape))
					return modeltest.Subject{
						Model: f.open(t, s), Sent: s.all, Secrets: []string{keys.ID, keys.Secret, keys.Session},
					}
				})
			})
		}
	}
}

// all returns the bodies of all requests.
func (s *stub) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// plays does what the suite wants, with a stream or in one piece.
func (f family) plays(p modeltest.Play, shape string) http.HandlerFunc {
	// what AWS quotes of a request whose signature it does not like
	message := fmt.Sprintf("%s\n/%s/%s/%s", p.Text, keys.ID, keys.Session, keys.Secret)
	switch p.Situation {
	case modeltest.RateLimited:
		var headers []string
		if p.RetryAfter > 0 {
			headers = []string{"Retry-After", fmt.Sprint(p.RetryAfter.Seconds())}
		}
		return refuse(429, "ThrottlingException", message, headers...)
	case modeltest.Quota:
		return refuse(400, "ServiceQuotaExceededException", message)
	case modeltest.Unauthorized:
		return refuse(403, "InvalidSignatureException", message)
	case modeltest.TooLong:
		return refuse(400, "ValidationException", "Input is too long for requested model. "+message)
	case modeltest.BadRequest:
		return refuse(400, "ValidationException", message)
	case modeltest.Overloaded:
		return refuse(503, "ServiceUnavailableException", message)
	case modeltest.Broken:
		return refuse(500, "InternalServerException", message)
	case modeltest.Slow:
		return failtest.Stall("", "")
	case modeltest.Garbled:
		return failtest.Reply(200, "\x00\xff"+p.Text, "Content-Type", "application/vnd.amazon.eventstream")
	case modeltest.Page:
		return failtest.Reply(200, p.Text, "Content-Type", "text/html")
	case modeltest.Answer, modeltest.Echo, modeltest.ToolCalls, modeltest.Length, modeltest.Refusal,
		modeltest.Empty, modeltest.Cut, modeltest.Stall:
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if shape == "streamed" {
			f.playStream(w, r, p, string(body))
			return
		}
		answer := f.answers(p, string(body))
		if p.Situation == modeltest.Cut {
			failtest.Cut("application/json", answer[:len(answer)/2])(w, r)
		}
		reply(200, answer)(w, r)
	}
}

func stopOf(p modeltest.Play) string {
	switch p.Situation { //nolint:exhaustive // all others end
	case modeltest.Length:
		return "max_tokens"
	case modeltest.Refusal:
		return "refusal"
	}
	return "end_turn"
}

// answers returns a whole answer.
func (f family) answers(p modeltest.Play, body string) string {
	text, calls := p.Reply(body)
	stop := stopOf(p)
	var blocks []string
	if text != "" {
		blocks = append(blocks, f.text(text))
	}
	for _, c := range calls {
		if len(c.Extra) > 0 {
			blocks = append(blocks, f.thought(string(c.Extra)))
		}
		blocks = append(blocks, f.call(c.ID, c.Name, string(c.Input)))
		stop = "tool_use"
	}
	return strings.Replace(f.says(`"`+stop+`"`, blocks...), f.counts(usage), f.counts(p.Usage), 1)
}

// playStream answers with a stream.
func (f family) playStream(w http.ResponseWriter, r *http.Request, p modeltest.Play, body string) {
	text, calls := p.Reply(body)
	frames := f.start(p.Usage)
	for _, chunk := range modeltest.Chunks(text) {
		frames = append(frames, f.delta(chunk))
	}
	first := slices.Concat(frames[:min(len(frames), len(f.start(p.Usage))+1)]...)
	stop := stopOf(p)
	for i, c := range calls {
		frames = append(frames, f.callFrames(2+2*i, c)...)
		stop = "tool_use"
	}
	switch p.Situation { //nolint:exhaustive // all others answer to the end
	case modeltest.Cut:
		failtest.Cut("application/vnd.amazon.eventstream", string(first))(w, r)
	case modeltest.Stall:
		events(first)(w, r)
		<-r.Context().Done()
	default:
		events(append(frames, f.end(stop, p.Usage)...)...)(w, r)
	}
}
