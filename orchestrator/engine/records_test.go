package engine

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// recorded is the Data of records with the text that logs have of it. Logs of earlier
// versions are read with it: no entry may ever change.
var recorded = []struct {
	text string
	data any
}{
	{`{}`, StartedData{}},
	{
		`{"version":2,"owner":"e","data":{"a":1},"budget":{"cost":5,"tokens":6,"calls":7,"wall":8,"allowUnpriced":true},` +
			`"labels":{"k":"v"},"values":{"t":"x"},"secret":{"labels":{"l":"s"},"values":{"w":"y"},"withheld":true},"continuedFrom":"r0","parent":"p","depth":3,"figures":{"a":{"most":{"cost":1,"tokens":2},"settled":4}}}`,
		StartedData{2, "e", Input{
			Data: raw(`{"a":1}`), Budget: Budget{5, 6, 7, 8, true}, Labels: map[string]string{"k": "v"}, Values: map[string]string{"t": "x"},
			Secret:        Secret{map[string]string{"l": "s"}, map[string]string{"w": "y"}, true},
			ContinuedFrom: "r0", Parent: "p", Depth: 3,
			Figures: Figures{"a": {Amount{1, 2, 0}, 4}},
		}},
	},
	{`{"figures":{"a":{"most":{"calls":3}}},"edition":1}`, StartedData{Input: Input{Edition: 1, Figures: Figures{"a": {Most: Amount{Calls: 3}}}}}},
	{`{"owner":"e"}`, ResumedData{Owner: "e"}},
	{`{"owner":"e","tally":{"records":2,"byAgent":{}}}`, ResumedData{"e", &Tally{Records: 2, ByAgent: map[string]providers.Usage{}}}},
	{`{}`, ResumedData{}},
	{`{"response":{}}`, CalledData{Response: &agent.Response{}}},
	{
		`{"response":{"text":"<t>","data":[1],"more":true,"usage":{"calls":1,"cost":9},"elapsed":1000000000},"reserved":{"cost":3},"request":["h1","h2"]}`,
		CalledData{
			Response: &agent.Response{Text: "<t>", Data: raw(`[1]`), More: true, Usage: providers.Usage{Calls: 1, Cost: 9}, Elapsed: time.Second},
			Reserved: &Amount{Cost: 3}, Request: []string{"h1", "h2"},
		},
	},
	{
		`{"response":{"text":"t"},"attempts":[{"n":1,"elapsed":1000000000,"message":"m","codes":["timeout"],"usage":{"calls":1,"cost":3}},{"n":2,"message":"o"}]}`,
		CalledData{
			Response: &agent.Response{Text: "t"},
			Attempts: &Attempts{{1, time.Second, "m", []agent.Code{ErrTimeout}, providers.Usage{Calls: 1, Cost: 3}}, {N: 2, Message: "o"}},
		},
	},
	{
		`{"error":{"message":"m","codes":["timeout","left-behind"],"transient":true,"usage":{"calls":2},"stack":"s","retryAfter":5}}`,
		CalledData{Err: &agent.Error{Message: "m", Codes: []agent.Code{ErrTimeout, ErrLeft}, Transient: true, Usage: providers.Usage{Calls: 2}, Stack: "s", RetryAfter: 5}},
	},
	{`{"status":""}`, EndedData{}},
	{
		`{"status":"partial","output":1,"outcome":{"o":2},"error":{"message":"m"},"state":[3],"spent":{"calls":4},"lost":{"calls":5,"cost":6,"tokens":7},"figures":{"a":{"most":{}}},"elapsed":8,"byAgent":{},"continuedFrom":"r"}`,
		EndedData{End{
			Status: Partial, Output: raw(`1`), Outcome: raw(`{"o":2}`), Err: &agent.Error{Message: "m"}, State: raw(`[3]`), Spent: providers.Usage{Calls: 4},
			Lost: Lost{5, 6, 7}, Figures: Figures{"a": {}}, Elapsed: 8, ByAgent: map[string]providers.Usage{}, ContinuedFrom: "r",
		}},
	},
	{`{"error":{"message":"m"}}`, StuckData{Err: &agent.Error{Message: "m"}}},
	{`{"error":{"message":"m"},"tally":{"records":3}}`, StuckData{&agent.Error{Message: "m"}, &Tally{Records: 3}}},
	{`{}`, SleptData{}},
	{`{"tally":{"records":4,"byAgent":{"a":{"calls":1}},"lost":{"calls":2},"continuedFrom":"x"}}`, SleptData{&Tally{4, map[string]providers.Usage{"a": {Calls: 1}}, Lost{Calls: 2}, "x"}}},
	{`{"response":{},"tally":{"records":1}}`, CalledData{Response: &agent.Response{}, Tally: &Tally{Records: 1}}},
	{`{"error":{"message":"m","codes":["budget"]},"after":1,"nth":2}`, RefusedData{&agent.Error{Message: "m", Codes: []agent.Code{ErrBudget}}, 1, 2}},
	{`{}`, UsedData{}},
	{`{"usage":{"calls":1,"cost":2}}`, UsedData{providers.Usage{Calls: 1, Cost: 2}}},
	{`{}`, LostData{}},
	{
		`{"calls":2,"cost":3,"tokens":4,"of":[{"agent":"a","cost":3},{"branch":"0.1","n":5,"agent":"b","tokens":4,"givenUp":true}]}`,
		LostData{Lost{2, 3, 4}, []LostCall{{Agent: "a", Amount: Amount{Cost: 3}}, {Branch: "0.1", N: 5, Agent: "b", Amount: Amount{Tokens: 4}, GivenUp: true}}},
	},
	{`{"key":"q"}`, Ask{Question: Question{Key: "q"}}},
	{
		`{"key":"q","text":"t","options":["a","b"],"optionsOf":"f","data":{"d":1},"timeout":60000000000,"only":["ann"],"person":true,"rejected":"r","secret":true,"hash":"h","schema":{"type":"string"},"again":true}`,
		Ask{Question{"q", "t", []string{"a", "b"}, "f", raw(`{"d":1}`), time.Minute, []string{"ann"}, true, "r", true, "h"}, raw(`{"type":"string"}`), true},
	},
	{`{"$answer":1}`, AnsweredData{Answer: raw(`1`)}},
	{
		`{"$answer":{"a":1},"by":"ann","seen":"h","agent":true,"early":true}`,
		AnsweredData{raw(`{"a":1}`), "ann", "h", true, true},
	},
}

func TestRecordsAsLogsHaveThem(t *testing.T) {
	for _, tt := range recorded {
		kind := reflect.TypeOf(tt.data)
		text, err := Encode(tt.data)
		require.NoError(t, err)
		assert.Equal(t, tt.text, string(text), "%s is written", kind)
		got := reflect.New(kind)
		require.NoError(t, json.Unmarshal([]byte(tt.text), got.Interface()))
		assert.Equal(t, tt.data, got.Elem().Interface(), "%s is read", kind)
	}
}

// TestRecordsOfLaterVersions: a later version may add fields, which are passed over.
func TestRecordsOfLaterVersions(t *testing.T) {
	for _, tt := range recorded {
		kind := reflect.TypeOf(tt.data)
		later := `{"later":{"x":1}`
		if tt.text != `{}` {
			later += ","
		}
		got := reflect.New(kind)
		require.NoError(t, json.Unmarshal([]byte(later+tt.text[1:]), got.Interface()))
		assert.Equal(t, tt.data, got.Elem().Interface(), "%s is read", kind)
	}
}

// TestRecordsWithoutGaps: each field of a record is in one of the texts above, so that none
// is added without its name in logs being looked at.
func TestRecordsWithoutGaps(t *testing.T) {
	set := map[string]bool{}
	all := map[reflect.Type]bool{}
	for _, tt := range recorded {
		v := reflect.ValueOf(tt.data)
		all[v.Type()] = true
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.Anonymous && !v.FieldByIndex(f.Index).IsZero() {
				set[v.Type().Name()+"."+f.Name] = true
			}
		}
	}
	for kind := range all {
		for _, f := range reflect.VisibleFields(kind) {
			if f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			assert.True(t, set[kind.Name()+"."+f.Name], "%s.%s is in no text", kind.Name(), f.Name)
		}
	}
}

func TestUsageOfACall(t *testing.T) {
	used := providers.Usage{Calls: 1, Cost: 5}
	for name, tt := range map[string]struct {
		data CalledData
		want providers.Usage
	}{
		"an answer": {CalledData{Response: &agent.Response{Usage: used}}, used},
		"a failure": {CalledData{Err: &agent.Error{Usage: used}}, used},
		"an answer counts before a failure": {
			CalledData{Response: &agent.Response{Usage: used}, Err: &agent.Error{Usage: providers.Usage{Calls: 9}}}, used,
		},
		"neither":          {CalledData{}, providers.Usage{}},
		"only reservation": {CalledData{Reserved: &Amount{Cost: 5}}, providers.Usage{}},
	} {
		assert.Equal(t, tt.want, tt.data.Usage(), name)
	}
}
