package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAskHash(t *testing.T) {
	ask := func(change func(a *Ask)) string {
		a := Ask{Question: Question{Key: "k", Text: "t", Options: []string{"a", "b"}, Data: raw(`{"n":1}`)}, Schema: raw(`{"type":"string"}`)}
		change(&a)
		data, err := Encode(a)
		require.NoError(t, err)
		return AskHash(data)
	}
	want := ask(func(*Ask) {})
	for name, change := range map[string]func(a *Ask){
		"key": func(a *Ask) { a.Key = "l" }, "text": func(a *Ask) { a.Text = "u" }, "border": func(a *Ask) { a.Key, a.Text = "kt", "" },
		"option": func(a *Ask) { a.Options[1] = "c" }, "order": func(a *Ask) { a.Options = []string{"b", "a"} }, "one option": func(a *Ask) { a.Options = []string{"ab"} },
		"data": func(a *Ask) { a.Data = raw(`{"n":2}`) }, "schema": func(a *Ask) { a.Schema = raw(`{"type":"boolean"}`) },
	} {
		assert.NotEqual(t, want, ask(change), "another %s", name)
	}
	for name, change := range map[string]func(a *Ask){
		"time": func(a *Ask) { a.Timeout = time.Hour }, "people": func(a *Ask) { a.Only, a.Person = []string{"ann"}, true },
		"field": func(a *Ask) { a.OptionsOf = "f" }, "rejected": func(a *Ask) { a.Rejected = "no" }, "again": func(a *Ask) { a.Again = true },
	} {
		assert.Equal(t, want, ask(change), "another %s", name)
	}
}

func TestAnswerOf(t *testing.T) {
	for _, d := range []AnsweredData{
		{Answer: raw(`1`)},
		{Answer: raw(`{"$answer":1}`)},
		{Answer: raw(`{"a":"<b>"}`), By: "ann"},
		{Answer: raw(`null`), Early: true},
		{Answer: raw(`true`), Seen: "h", Agent: true},
	} {
		data, err := d.Encode()
		require.NoError(t, err)
		assert.Equal(t, d, AnswerOf(data), string(data))
	}
	bare, err := AnsweredData{Answer: raw(`{"a":1}`)}.Encode()
	require.NoError(t, err)
	assert.Equal(t, json.RawMessage(`{"a":1}`), bare, "as logs always had it")
}
