package redact_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/providers/internal/redact"
)

func TestClean(t *testing.T) {
	r := redact.New("hunter2", "hunter2+more", "", "abc", `quo"te&key`)
	tests := []struct{ text, want string }{
		{"", ""},
		{"the key hunter2 is wrong", "the key [redacted] is wrong"},
		{"hunter2+more, hunter2%2Bmore", "[redacted], [redacted]"},
		{"hunter2hunter2", "[redacted][redacted]"},
		{`{"k":"quo\"te\u0026key"}`, `{"k":"[redacted]"}`},
		{"abc is too short for a secret", "abc is too short for a secret"},
		{"provided: sk-proj-abc_123456.", "provided: [redacted]."},
		{"x-goog: AIzaSyA0123456789_abcdefghijklm", "x-goog: [redacted]"},
		{"glm 0123456789abcdef0123456789abcdef.AbCdEfGhIjKlMnOp", "glm [redacted]"},
		{"AKIAIOSFODNN7EXAMPLE and ASIAIOSFODNN7EXAMPLE", "[redacted] and [redacted]"},
		{"ghp_0123456789abcdefghij, github_pat_0123456789_abcdefghij", "[redacted], [redacted]"},
		{"xoxb-0123456789-abc", "[redacted]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]"},
		{"Authorization: Bearer abcdefghijklmnop", "Authorization: [redacted]"},
		{"?key=abcdefghijklmnop&x", "?[redacted]&x"},
		{"X-Api-Key: 0123456789abcdef", "X-[redacted]"},
		{`{"api_key": "abcdefghijklmnop"}`, `{"api_[redacted]"}`},
		{"missing bearer authentication", "missing bearer authentication"},
		{"unknown key: response_format_type", "unknown key: response_format_type"},
		{"a risk-assessment of disk-failures", "a risk-assessment of disk-failures"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, r.Clean(tt.text), tt.text)
		assert.Equal(t, tt.want != tt.text, r.Holds(tt.text), tt.text)
	}
}

func TestZeroRedactor(t *testing.T) {
	var r redact.Redactor
	assert.Equal(t, "hunter2 [redacted]", r.Clean("hunter2 sk-abcdefgh"))
	assert.True(t, r.Holds("sk-abcdefgh"))
	assert.False(t, r.Holds("hunter2"))
	assert.Equal(t, "[redacted]", redact.New("redacted").Clean("[redacted]"), "a secret of the mark")
}

func TestSecretsAreNotPrinted(t *testing.T) {
	r := redact.New("hunter2")
	inside := struct{ R redact.Redactor }{r}
	data, err := json.Marshal(inside)
	assert.NoError(t, err)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", r, r, r), fmt.Sprintf("%v %+v %#v", inside, inside, &inside), string(data)} {
		assert.NotContains(t, text, "hunter2")
	}
}

func FuzzCleanLeavesNoKey(f *testing.F) {
	f.Add("a hunter2 key=abcdefghijklmnop", "hunter2")
	f.Add("sk-sk-sk-abcdefgh bearer bearer abcdefghijklmnop", "sk-")
	f.Add("keyred[redacted]acted", "[redacted]acted")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := redact.New(secret)
		clean := r.Clean(text)
		if strings.ContainsAny(secret, "[]") {
			return // what is left of it and the mark may be the secret again
		}
		if len(secret) >= 4 && !strings.Contains(redact.Mark, secret) && strings.Contains(clean, secret) {
			t.Errorf("Clean(%q) = %q holds %q", text, clean, secret)
		}
		if !r.Holds(text) && clean != text {
			t.Errorf("Clean(%q) = %q, but Holds says that there is no key", text, clean)
		}
	})
}
