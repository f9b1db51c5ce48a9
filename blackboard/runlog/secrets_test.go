package runlog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

// confidential is a log with secrets in each place that has some.
func confidential(t *testing.T) *runlog.Memory {
	t.Helper()
	return appended(t,
		runlog.Record{Run: "r", Kind: runlog.Started, Name: "f", At: day, Data: []byte(
			`{"version":2,"labels":{"card":"[secret]","for":"ann"},"values":{"tenant":"<acme>"},"secret":{"labels":{"card":"hush-1"},"values":{"token":"hush-2"}}}`)},
		runlog.Record{Run: "r", Seq: 1, Kind: runlog.Asked, Name: "pin", At: day, Data: []byte(`{"key":"pin","text":"PIN?","data":{"card":"hush-3"},"secret":true}`)},
		runlog.Record{Run: "r", Seq: 2, Kind: runlog.Asked, Name: "ok", At: day, Data: []byte(`{"key":"ok","data":{"a":1}}`)},
		runlog.Record{Run: "r", Seq: 3, Kind: runlog.Answered, Name: "pin", At: day, Data: []byte(`"hush-4"`)},
		runlog.Record{Run: "r", Seq: 4, Kind: runlog.Answered, Name: "ok", At: day, Data: []byte(`true`)},
		runlog.Record{Run: "r", Seq: 5, Kind: runlog.Ended, At: day, Data: []byte(`{"status":"completed"}`)},
	)
}

const withoutSecrets = `{"format":"convene-run","version":1,"run":"r","records":6}
{"run":"r","seq":0,"kind":"started","name":"f","at":"2026-01-02T03:04:05.000000006Z","data":{"labels":{"card":"[secret]","for":"ann"},"secret":{"labels":{"card":"[secret]"},"values":{"token":"[secret]"},"withheld":true},"values":{"tenant":"<acme>"},"version":2}}
{"run":"r","seq":1,"kind":"asked","name":"pin","at":"2026-01-02T03:04:05.000000006Z","data":{"key":"pin","secret":true,"text":"PIN?"}}
{"run":"r","seq":2,"kind":"asked","name":"ok","at":"2026-01-02T03:04:05.000000006Z","data":{"key":"ok","data":{"a":1}}}
{"run":"r","seq":3,"kind":"answered","name":"pin","at":"2026-01-02T03:04:05.000000006Z","data":"[secret]"}
{"run":"r","seq":4,"kind":"answered","name":"ok","at":"2026-01-02T03:04:05.000000006Z","data":true}
{"run":"r","seq":5,"kind":"ended","at":"2026-01-02T03:04:05.000000006Z","data":{"status":"completed"}}
`

func exportOf(t *testing.T, s runlog.Store, o ...runlog.ExportOptions) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), s, "r", &out, o...))
	return out.String()
}

func TestExportLeavesOutSecrets(t *testing.T) {
	s := confidential(t)
	assert.Equal(t, withoutSecrets, exportOf(t, s))
	assert.Equal(t, withoutSecrets, exportOf(t, s, runlog.ExportOptions{}))

	there := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), there, strings.NewReader(withoutSecrets))
	require.NoError(t, err)
	assert.Equal(t, withoutSecrets, exportOf(t, there), "the export of a copy")
}

func TestExportWithSecrets(t *testing.T) {
	s := confidential(t)
	out := exportOf(t, s, runlog.ExportOptions{Secrets: true})
	for _, secret := range []string{"hush-1", "hush-2", "hush-3", "hush-4"} {
		assert.Contains(t, out, secret)
	}
	there := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), there, strings.NewReader(out))
	require.NoError(t, err)
	assert.Equal(t, all(t, s.Records(t.Context(), "r", 0)), all(t, there.Records(t.Context(), "r", 0)))
}

// An answer may come before its question.
func TestExportLeavesOutAnEarlySecretAnswer(t *testing.T) {
	s := appended(t,
		runlog.Record{Run: "r", Kind: runlog.Started, At: day, Data: []byte(`{"version":1}`)},
		runlog.Record{Run: "r", Seq: 1, Kind: runlog.Answered, Name: "pin", At: day, Data: []byte(`"hush"`)},
		runlog.Record{Run: "r", Seq: 2, Kind: runlog.Asked, Name: "pin", At: day, Data: []byte(`{"key":"pin","secret":true}`)},
	)
	out := exportOf(t, s)
	assert.NotContains(t, out, "hush")
	assert.Contains(t, out, `"data":{"secret":{"withheld":true},"version":1}`, "the copy says that something is missing")
}

// Who gave an answer, and what they saw, is no secret.
func TestExportKeepsWhoAnswered(t *testing.T) {
	s := appended(t,
		runlog.Record{Run: "r", Kind: runlog.Started, At: day, Data: []byte(`{}`)},
		runlog.Record{Run: "r", Seq: 1, Kind: runlog.Asked, Name: "pin", At: day, Data: []byte(`{"key":"pin","secret":true}`)},
		runlog.Record{Run: "r", Seq: 2, Kind: runlog.Answered, Name: "pin", At: day, Data: []byte(`{"$answer":"hush","by":"ann","seen":"h1"}`)},
	)
	out := exportOf(t, s)
	assert.NotContains(t, out, "hush")
	assert.Contains(t, out, `"data":{"$answer":"[secret]","by":"ann","seen":"h1"}`)
}

// Large Data is in a blob, which would have the secret.
func TestExportLeavesOutBlobsWithSecrets(t *testing.T) {
	s := runlog.NewMemory()
	put := func(data string) string {
		hash, err := s.PutBlob(t.Context(), "r", []byte(data))
		require.NoError(t, err)
		return hash
	}
	require.NoError(t, s.Append(t.Context(), []runlog.Record{
		{Run: "r", Kind: runlog.Started, At: day, Data: []byte(`{"version":3}`), Blob: put(`{"version":3,"data":"large","secret":{"values":{"a":"hush-1"}}}`)},
		{Run: "r", Seq: 1, Kind: runlog.Asked, Name: "pin", At: day, Blob: put(`{"key":"pin","data":"hush-2","secret":true}`)},
		{Run: "r", Seq: 2, Kind: runlog.Answered, Name: "pin", At: day, Blob: put(`"hush-3"`)},
		{Run: "r", Seq: 3, Kind: runlog.Called, At: day, Blob: put(`"plain"`)},
	}))
	out := exportOf(t, s)
	there := runlog.NewMemory()
	_, err := runlog.Import(t.Context(), there, strings.NewReader(out))
	require.NoError(t, err)
	recs := all(t, there.Records(t.Context(), "r", 0))
	assert.JSONEq(t, `{"version":3,"data":"large","secret":{"values":{"a":"[secret]"},"withheld":true}}`, string(recs[0].Data))
	assert.JSONEq(t, `{"key":"pin","secret":true}`, string(recs[1].Data))
	assert.Equal(t, `"[secret]"`, string(recs[2].Data))
	blobs := all(t, there.BlobsOf(t.Context(), "r"))
	assert.Equal(t, [][]byte{[]byte(`"plain"`)}, blobs)
}

// What is marked in another way than engines do is left out too.
func TestExportLeavesOutMarksThatItDoesNotKnow(t *testing.T) {
	for _, data := range []string{`{"secret":["hush"]}`, `{"secret":"hush"}`, `{"secret":{"more":"hush","values":["hush"]}}`} {
		out := exportOf(t, appended(t, runlog.Record{Run: "r", Kind: runlog.Started, At: day, Data: []byte(data)}))
		assert.NotContains(t, out, "hush", data)
		assert.Contains(t, out, `"withheld":true`, data)
	}
}

func TestExportTakesOneSetOfOptions(t *testing.T) {
	err := runlog.Export(t.Context(), confidential(t), "r", new(strings.Builder), runlog.ExportOptions{}, runlog.ExportOptions{})
	assert.ErrorContains(t, err, "got 2 ExportOptions, want at most one")
}
