package bedrock

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/redact"
)

// redactor knows o's keys, if they stay the same.
func (o Opener) redactor() redact.Redactor {
	k, ok := o.Credentials.(Keys)
	if !ok {
		return redact.Redactor{}
	}
	return redact.New(k.ID, k.Secret, k.Session)
}

// fault fills in what every error of m says, without secrets and prompts.
func (m *model) fault(req providers.Request, keys aws.Credentials, e *providers.Error) *providers.Error {
	r := redact.New(keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken)
	e.Model = r.Clean(m.name)
	e.Message = short(r.Clean(withoutPrompt(e.Message, req)))
	e.Err = causeError{text: r.Clean(withoutPrompt(e.Err.Error(), req)), err: e.Err}
	return e
}

// causeError is why a call failed. It compares as that error does, and there is no
// way to its text, which may hold a key.
type causeError struct {
	text string // without keys
	err  error
}

func (c causeError) Error() string        { return c.text }
func (c causeError) GoString() string     { return strconv.Quote(c.text) }
func (c causeError) Is(target error) bool { return errors.Is(c.err, target) }

// withoutPrompt takes req's texts out of an error that quotes them. Short ones
// stay: they are in every sentence.
func withoutPrompt(text string, req providers.Request) string {
	const short = 16
	for _, m := range req.Messages {
		if len(m.Text) >= short {
			text = strings.ReplaceAll(text, m.Text, "[prompt]")
		}
	}
	return text
}

// short cuts text and puts it on one line of printable characters.
func short(text string) string {
	const limit = 300 // runes
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	runes := slices.DeleteFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) })
	if len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return string(runes)
}
