package team_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// values are one duration and one amount of money, never left out.
type values struct {
	Wait  time.Duration     `json:"wait"`
	Money providers.NanoUSD `json:"money"`
}

func TestEncodeDuration(t *testing.T) {
	for _, tt := range []struct {
		wait time.Duration
		want string
	}{
		{0, `"0s"`},
		{time.Millisecond, `"1ms"`},
		{90 * time.Second, `"1m30s"`},
		{-time.Second, `"-1s"`},
		{-2, `"-2ns"`},
		{orchestrator.None, `-1`},
	} {
		data, err := team.Encode(values{Wait: tt.wait})
		require.NoError(t, err)
		assert.JSONEq(t, fmt.Sprintf(`{"wait":%s,"money":0}`, tt.want), string(data))
	}
}

func TestDecodeDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		`"5m"`: 5 * time.Minute, `"1h30m"`: 90 * time.Minute, `"-1s"`: -time.Second, `90`: 90 * time.Second, `0.5`: time.Second / 2,
		`-1`: orchestrator.None, `-2`: -2 * time.Second, `-1.0`: -time.Second, `0`: 0, `"0"`: 0,
	} {
		got := values{Wait: time.Hour}
		require.NoError(t, team.Decode([]byte(`{"wait":`+in+`}`), &got), in)
		assert.Equal(t, want, got.Wait, in)
	}
	for _, in := range []string{`"5"`, `""`, `"5 m"`, `true`, `[5]`, `{}`, `1e3`, `"` + strings.Repeat("9", 100) + `h"`} {
		got := values{Wait: time.Hour}
		err := team.Decode([]byte(`{"wait":`+in+`}`), &got)
		require.ErrorContains(t, err, "wait is ", in)
		require.ErrorContains(t, err, "want a duration", in)
		assert.Less(t, len(err.Error()), 150, "little of the text")
		assert.Equal(t, time.Hour, got.Wait, "a field that is wrong stays")
	}
}

func TestEncodeMoney(t *testing.T) {
	for _, tt := range []struct {
		money providers.NanoUSD
		want  string
	}{
		{0, "0"},
		{1, "0.000000001"},
		{providers.USD, "1"},
		{100 * providers.USD, "100"},
		{providers.USD / 10, "0.1"},
		{-providers.USD, "-1.0"},
		{-2 * providers.USD, "-2"},
		{orchestrator.None, "-1"},
	} {
		data, err := team.Encode(values{Money: tt.money})
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf(`{"wait":"0s","money":%s}`, tt.want), string(data))
	}
}

func TestDecodeMoney(t *testing.T) {
	for in, want := range map[string]providers.NanoUSD{
		"1": providers.USD, "1.0": providers.USD, "1e3": 1000 * providers.USD, "1.5e-8": 15, "0": 0, "-0.5": -providers.USD / 2,
		"-1": orchestrator.None, "-1.0": -providers.USD, "0.3": 300_000_000, "9223372036.854775807": 9223372036854775807,
	} {
		got := values{Money: 7}
		require.NoError(t, team.Decode([]byte(`{"money":`+in+`}`), &got), in)
		assert.Equal(t, want, got.Money, in)
	}
	for _, in := range []string{`"1"`, `null`, `true`, `1e-10`, `1.0000000001`, `9223372036.854775808`, `[1]`} {
		got := values{Money: 7}
		require.ErrorContains(t, team.Decode([]byte(`{"money":`+in+`}`), &got), "money is "+in+", want USD with at most 9 decimals")
		assert.Equal(t, providers.NanoUSD(7), got.Money, "a field that is wrong stays")
	}
}

// TestMoneyIsExact compares the text with a fraction: no float comes in between.
func TestMoneyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		money := providers.NanoUSD(rapid.Int64().Draw(t, "money"))
		if money == orchestrator.None {
			return
		}
		data, err := team.Encode(values{Money: money})
		require.NoError(t, err)
		var text struct {
			Money json.Number `json:"money"`
		}
		require.NoError(t, json.Unmarshal(data, &text))
		got, ok := new(big.Rat).SetString(string(text.Money))
		require.True(t, ok)
		require.Zero(t, got.Cmp(big.NewRat(int64(money), int64(providers.USD))), "%d is written as %s", money, text.Money)
	})
}

// TestDecodePaths has the fault of a part of parts name the whole way to it.
func TestDecodePaths(t *testing.T) {
	type leaf struct {
		Money providers.NanoUSD `json:"money"`
	}
	type branch struct {
		Leaves []leaf `json:"leaves"`
		Leaf   leaf   `json:"leaf"`
	}
	type root struct {
		Branches []branch `json:"branches"`
		Branch   branch   `json:"branch"`
		Flag     bool     `json:"flag"`
		Floats   []int    `json:"floats"`
	}
	for in, want := range map[string]string{
		`{"branches":[{},{"leaves":[{},{},{"money":"x"}]}]}`: `branches[1].leaves[2].money is "x", want USD with at most 9 decimals`,
		`{"branch":{"leaf":{"monny":1}}}`:                    "branch.leaf.monny is unknown",
		`{"branch":7}`:                                       "branch is a JSON number, want an object",
		`{"branches":[7]}`:                                   "branches[0] is a JSON number, want an object",
		`{"branches":7}`:                                     "branches is a JSON number, want a list",
		`{"flag":"yes"}`:                                     "flag is a JSON string, want a bool",
		`{"b":1,"a":2,"flag":true}`:                          "a is unknown\nb is unknown",
		`7`:                                                  "is a JSON number, want an object",
	} {
		var got root
		require.EqualError(t, team.Decode([]byte(in), &got), want, in)
	}
}

// TestDecodeReadsTheRest has faults in some fields, and reads the others.
func TestDecodeReadsTheRest(t *testing.T) {
	got := values{Money: 7}
	require.EqualError(t, team.Decode([]byte(`{"money":2,"wait":"x","more":1}`), &got),
		"wait is \"x\", want a duration such as \"5m\", or a number of seconds\nmore is unknown")
	assert.Equal(t, values{Money: 2 * providers.USD}, got)
}

// TestCloneSharesNothing changes each part of a copy.
func TestCloneSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.MapOfN(rapid.StringN(0, 3, -1), rapid.SliceOfN(rapid.Int(), 0, 3), 0, 3).Draw(t, "lists")
		before, err := json.Marshal(lists)
		require.NoError(t, err)
		own := team.Clone(lists)
		require.Equal(t, lists, own)
		for name, list := range own {
			for i := range list {
				list[i]++
			}
			own[name+"!"] = nil
			break
		}
		clear(own)
		after, err := json.Marshal(lists)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after))
	})
}

// TestEncodeLeavesOut has omitzero and omitempty work as in encoding/json.
func TestEncodeLeavesOut(t *testing.T) {
	type part struct {
		Wait  time.Duration     `json:"wait,omitzero"`
		Money providers.NanoUSD `json:"money,omitempty"`
		Name  string            `json:"name,omitempty"`
		Keep  time.Duration     `json:"keep"`
		Hook  func()            `json:"-"`
	}
	data, err := team.Encode(part{Hook: func() {}})
	require.NoError(t, err)
	assert.Equal(t, `{"keep":"0s"}`, string(data))
	data, err = team.Encode(part{Wait: 1, Money: 1, Name: "n", Keep: orchestrator.None})
	require.NoError(t, err)
	assert.Equal(t, `{"wait":"1ns","money":0.000000001,"name":"n","keep":-1}`, string(data))
}

// TestFaultsInOrder has one error with a line for each fault, as they were added.
func TestFaultsInOrder(t *testing.T) {
	var f team.Faults
	f.Add("B is %q", "x")
	f.If(false, "C is wrong")
	f.If(true, "A is %d", 1)
	f.Add("N is %d", 2)
	require.EqualError(t, f.Err(), "B is \"x\"\nA is 1\nN is 2")
}

// A number of further tries is read as one of all tries, and only where that is not set.
func TestMaxRetries(t *testing.T) {
	for data, want := range map[string]string{
		`{"attempts":0,"maxRetries":3}`: "4", `{"maxRetries":0}`: "1", `{"maxRetries":-2}`: "-2", `{"maxRetries":9223372036854775807}`: "9223372036854775807",
		`{"attempts":2,"maxRetries":1}`: "maxRetries is set beside attempts, want one of them",
	} {
		var read struct {
			Attempts int             `json:"attempts"`
			Further  team.MaxRetries `json:"maxRetries"`
		}
		read.Further.Attempts = &read.Attempts
		var got string
		if err := team.Decode([]byte(data), &read); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(read.Attempts)
		}
		assert.Equal(t, want, got, "N21 %s", data)
	}
}
