package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestEncodeCalled(t *testing.T) {
	long := strings.Repeat("a line with \"quotes\", ä and \\\n", 10_000)
	data, err := Encode(map[string]string{"a": long})
	require.NoError(t, err)
	for name, d := range map[string]CalledData{
		"an error":                {Err: &agent.Error{Message: long}},
		"a short answer":          {Response: &agent.Response{Text: "yes", Usage: providers.Usage{Calls: 1}}},
		"a long text":             {Response: &agent.Response{Text: long, Usage: providers.Usage{Calls: 1}, Elapsed: 3}, Reserved: &Amount{Cost: 5}},
		"nothing but a long text": {Response: &agent.Response{Text: long}},
		"long data":               {Response: &agent.Response{Data: data, More: true}, Request: []string{"x"}},
		"nothing but long data":   {Response: &agent.Response{Data: data}, Tally: &Tally{Records: 3}},
		"both":                    {Response: &agent.Response{Text: long, Data: data, Messages: []providers.Message{{Text: long}}}},
		"a long text, short data": {Response: &agent.Response{Text: long, Data: json.RawMessage(`{"a":1}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := Encode(d)
			require.NoError(t, err)
			got, err := EncodeCalled(&d)
			require.NoError(t, err)
			assert.True(t, string(got) == string(want), "the form of every other record: %d bytes, want %d", len(got), len(want))
		})
	}
	t.Run("what is too large is an error", func(t *testing.T) {
		_, err := EncodeCalled(&CalledData{Response: &agent.Response{Text: strings.Repeat("a", MaxData)}})
		require.ErrorIs(t, err, ErrTooLarge)
	})
	t.Run("a large answer is written into one buffer", func(t *testing.T) {
		d := &CalledData{Response: &agent.Response{Text: strings.Repeat(long, 50)}}
		got, err := EncodeCalled(d)
		require.NoError(t, err)
		assert.Less(t, float64(cap(got)), 1.01*float64(len(got)), "a buffer that had to grow is larger")
	})
}
