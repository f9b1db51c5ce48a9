package runlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/internal/text"
)

// ExportOptions say what an export has. The zero value leaves out what is secret.
type ExportOptions struct {
	// Secrets puts in what the run marks as secret: texts of labels and values, Data of
	// questions and their answers. Without it they are "[secret]" in the copy, which shows
	// the run: engines do not resume it.
	Secrets bool
}

// withheld is what an export leaves out of a run.
type withheld struct {
	records map[int64]Record // copies of the records that have secrets, without these
	blobs   map[string]bool  // hashes of the blobs that have secrets
}

// withhold finds the secrets of a run: in its Started record, its questions and answers.
func withhold(ctx context.Context, s Store, run string) (*withheld, error) {
	w := &withheld{map[int64]Record{}, map[string]bool{}}
	secret := map[string]bool{} // keys of secret questions
	var answered []Record
	for rec, err := range Asks(ctx, s, run, "") {
		if err == nil && rec.Kind == Asked {
			var hidden bool
			if hidden, err = w.take(ctx, s, rec, hideQuestion); hidden {
				secret[rec.Name] = true
			}
		}
		if err != nil {
			return nil, err
		}
		if rec.Kind == Answered {
			answered = append(answered, rec)
		}
	}
	for _, rec := range answered {
		if !secret[rec.Name] {
			continue
		}
		if _, err := w.take(ctx, s, rec, hideAnswer); err != nil {
			return nil, err
		}
	}
	for rec, err := range s.Records(ctx, run, 0) {
		if err == nil && rec.Kind == Started {
			_, err = w.take(ctx, s, rec, func(data json.RawMessage) json.RawMessage { return hideCarried(data, len(secret)) })
		}
		if err != nil {
			return nil, err
		}
		break
	}
	return w, nil
}

// take notes what hide makes of the Data of rec, with the Data in the log itself. nil of
// hide: rec has no secret.
func (w *withheld) take(ctx context.Context, s Store, rec Record, hide func(json.RawMessage) json.RawMessage) (hidden bool, err error) {
	data := rec.Data
	if blobs, ok := As[Blobs](s); rec.Blob != "" && ok {
		if data, err = blobs.Blob(ctx, rec.Run, rec.Blob); err != nil {
			return false, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
	}
	if len(data) == 0 {
		return false, nil
	}
	shown := hide(data)
	if shown == nil {
		return false, nil
	}
	if rec.Blob != "" {
		w.blobs[rec.Blob] = true
	}
	rec.Data, rec.Blob = shown, ""
	w.records[rec.Seq] = rec
	return true, nil
}

// record returns rec as the export has it.
func (w *withheld) record(rec Record) Record {
	if copied, ok := w.records[rec.Seq]; ok {
		return copied
	}
	return rec
}

// hideQuestion takes out the Data of a secret question.
func hideQuestion(data json.RawMessage) json.RawMessage {
	fields := fieldsOf(data)
	if string(fields["secret"]) != "true" {
		return nil
	}
	delete(fields, "data")
	return encoded(fields)
}

// hideAnswer takes out the answer to a secret question. Who gave it stays.
func hideAnswer(data json.RawMessage) json.RawMessage {
	const answer = "$answer" // engines write it where they say more than the answer
	if !bytes.HasPrefix(data, []byte(`{"`+answer+`":`)) {
		return encoded(text.Secret)
	}
	fields := fieldsOf(data)
	fields[answer] = encoded(text.Secret)
	return encoded(fields)
}

// hideCarried takes out the secret texts of a Started record, and notes that something is
// missing. questions is the number of secret questions, whose texts are missing too.
func hideCarried(data json.RawMessage, questions int) json.RawMessage {
	fields := fieldsOf(data)
	if len(fields["secret"]) == 0 && questions == 0 {
		return nil
	}
	secret := map[string]any{}
	for kind, texts := range fieldsOf(fields["secret"]) {
		names := map[string]string{}
		for name := range fieldsOf(texts) {
			names[name] = text.Secret
		}
		secret[kind] = names
	}
	secret["withheld"] = true
	fields["secret"] = encoded(secret)
	return encoded(fields)
}

// fieldsOf returns the fields of a JSON object. Other data has none.
func fieldsOf(data json.RawMessage) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(data, &fields)
	if fields == nil { // it was null
		fields = map[string]json.RawMessage{}
	}
	return fields
}

// encoded returns the JSON of what has one: it was decoded from JSON.
func encoded(v any) json.RawMessage {
	data, _ := text.JSON(v)
	return data
}
