package rehearsal_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli/rehearsal"
)

func TestScript(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	s := rehearsal.Script{Files: fstest.MapFS{"a.1.txt": file("one\n"), "a.3.txt": file("three"), "b.txt": file("b"), "a.judge.txt": file("j")}}
	for _, tt := range []struct {
		part    string
		attempt int
		want    string
	}{{"a", 1, "one"}, {"a", 2, "one"}, {"a", 3, "three"}, {"a", 9, "three"}, {"b", 1, "b"}, {"b", 5, "b"}, {"a.judge", 2, "j"}} {
		got, err := s.Text(tt.part, tt.attempt)
		require.NoError(t, err)
		assert.Equal(t, tt.want, got, "%s %d", tt.part, tt.attempt)
	}
	_, err := s.Text("c", 2)
	require.EqualError(t, err, "the script has no text for c at attempt 2")
	for prompt, want := range map[string]string{"": "one", "it said one before": "one"} {
		got, err := s.Next("a", prompt)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q: the second text is the first", prompt)
	}
	s.Files = fstest.MapFS{"a.1.txt": file("one"), "a.2.txt": file("two"), "b.txt": file("b")}
	for prompt, want := range map[string]string{"": "one", "one": "two", "one two": "two"} {
		got, err := s.Next("a", prompt)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q", prompt)
	}
	got, err := s.Next("b", "b")
	require.NoError(t, err)
	assert.Equal(t, "b", got)
}
