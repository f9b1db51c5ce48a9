package modeltest

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// Situation is what the stub behind a model plays.
type Situation string

// The situations in which the vendor answers. The stub says Play.Reply, reports
// Play.Usage, and streams if the request wants it.
const (
	Answer    Situation = "answer"     // it says the text and ends
	Echo      Situation = "echo"       // it says another text for each request
	ToolCalls Situation = "tool calls" // it calls tools, and says the text when it has their results
	Length    Situation = "length"     // it says the text, and stops there at the limit on tokens
	Refusal   Situation = "refusal"    // it refuses, or its filter does, with the text if the vendor has one for that
)

// The situations without a usable answer.
const (
	Empty Situation = "empty" // a complete, valid answer with neither text nor tool calls
	Cut   Situation = "cut"   // the connection breaks in the middle of the answer; of a stream: after the first chunk
	Slow  Situation = "slow"  // nothing comes while the client waits
	Stall Situation = "stall" // the first chunk of a stream comes, then nothing while the client waits
)

// The situations with a status of 200 and a body that is no answer.
const (
	Garbled Situation = "garbled" // the vendor's answer came and was paid for, and cannot be read: half of its JSON, or bytes of no format
	Page    Situation = "page"    // a proxy or a login answers with text/html in place of the vendor, who is not reached
)

// The situations in which the vendor reports an error, in its own way. The error's
// message contains Play.Text, which quotes the request as vendors do, and the key, if
// the stub was sent one.
const (
	RateLimited  Situation = "rate limited" // too many calls; Play.RetryAfter says when the next one may come
	Quota        Situation = "quota"        // the money is used up, and waiting does not help
	Unauthorized Situation = "unauthorized" // the key is wrong
	TooLong      Situation = "too long"     // the request does not fit the model
	BadRequest   Situation = "bad request"  // the request cannot be understood
	Overloaded   Situation = "overloaded"   // all customers have to wait
	Broken       Situation = "broken"       // an internal error of the vendor
)

// Play tells the stub what to do.
type Play struct {
	Situation Situation // situation that the vendor plays

	// Text is what the model says, the vendor's error message, or the Page.
	Text string

	// ToolCalls are those of ToolCalls. The stub leaves out what the vendor's format
	// cannot express: the ID, or Extra.
	ToolCalls []providers.ToolCall

	// Usage is what the stub reports of every answer, in the vendor's way of
	// counting: here Input includes CacheRead, and Output includes Reasoning.
	Usage providers.Usage

	// RetryAfter is what RateLimited says: whole seconds, 0 for nothing.
	RetryAfter time.Duration
}

// Reply is the stub's answer to a request with that body: a text, or tool calls.
func (p Play) Reply(body string) (text string, calls []providers.ToolCall) {
	switch {
	case p.Situation == Echo:
		return echoWord.FindString(body), nil
	case p.Situation == ToolCalls && !strings.Contains(body, resultWord):
		return "", cloneCalls(p.ToolCalls)
	case p.Situation == Empty:
		return "", nil
	}
	return p.Text, nil
}

// Chunks are the pieces in which a stub streams text.
func Chunks(text string) []string {
	const pieces = 4
	runes := []rune(text)
	var chunks []string
	for i := range pieces {
		if part := runes[i*len(runes)/pieces : (i+1)*len(runes)/pieces]; len(part) > 0 {
			chunks = append(chunks, string(part))
		}
	}
	return chunks
}

var echoWord = regexp.MustCompile(`echo-\d+`)

// Words that are the same in every encoding of a request.
const (
	resultWord = "result-of-the-tool" // in the results of tools
	extraWord  = "extra-of-the-call"  // in what the vendor wants to see again
)

// said is what the stub says: of several lines, with quotes, and with runes of
// every length.
const said = "The answer is \"42\",\nfür <all> & 世界 😀\\ of it."

// play returns the Play of a situation.
func play(s Situation) Play {
	p := Play{Situation: s, Text: said, Usage: providers.Usage{Input: 31, Output: 17, CacheRead: 12, Reasoning: 5}}
	switch s {
	case ToolCalls:
		p.ToolCalls = []providers.ToolCall{
			{ID: "call-a", Name: "weather", Input: json.RawMessage(`{"place":"Oslo","days":3}`), Extra: json.RawMessage(`{"note":"` + extraWord + `"}`)},
			{ID: "call-b", Name: "clock", Input: json.RawMessage(`{}`)},
		}
	case RateLimited, Quota, Unauthorized, TooLong, BadRequest, Overloaded, Broken:
		p.Text = "The vendor cannot answer this: " + prompt
	case Page:
		p.Text = "<html><body>Sign in"
	case Answer, Echo, Length, Refusal, Empty, Cut, Slow, Stall, Garbled:
	}
	return p
}

func cloneCalls(calls []providers.ToolCall) []providers.ToolCall {
	out := make([]providers.ToolCall, len(calls))
	for i, c := range calls {
		c.Input, c.Extra = append(json.RawMessage(nil), c.Input...), append(json.RawMessage(nil), c.Extra...)
		out[i] = c
	}
	return out
}
