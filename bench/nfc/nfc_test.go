package main

import (
	"os"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/nfc"
)

func TestTable(t *testing.T) {
	if nfc.Version != unicode.Version || norm.Version != unicode.Version {
		t.Fatalf("Unicode is %s here, %s in x/text and %s in the table: run go generate in internal/nfc", unicode.Version, norm.Version, nfc.Version)
	}
	written, err := os.ReadFile("../../internal/nfc/table.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != table() {
		t.Error("the table is not what this program writes: run go generate in internal/nfc")
	}
}

func TestEachRune(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		for _, s := range []string{string(r), "a" + string(r), "e\u0323" + string(r) + "\u0301", norm.NFD.String(string(r)), "\u1100" + string(r) + "\u11a8"} {
			if want, got := norm.NFC.String(s), nfc.String(s); got != want {
				t.Fatalf("%U: %+q becomes %+q, want %+q", r, s, got, want)
			}
		}
	}
}

// x/text breaks runs of more than 30 marks, which is no part of NFC. So texts are short.
func TestRandomTexts(t *testing.T) {
	var odd []rune
	for r := range unicode.MaxRune + 1 {
		if p := norm.NFC.PropertiesString(string(r)); p.CCC() != 0 || p.Decomposition() != nil || !p.BoundaryBefore() {
			odd = append(odd, r)
		}
	}
	letters := rapid.OneOf(rapid.SampledFrom(odd), rapid.SampledFrom([]rune("aeAoüÅKṩṩ가각힣각ᆧ\u0301\u0307\u0323\u0345\u0338 \n")), rapid.RuneFrom(nil, unicode.Hangul, unicode.M, unicode.Han), rapid.Rune())
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(letters, 0, 9).Draw(t, "runes"))
		want := norm.NFC.String(s)
		if got := nfc.String(s); got != want {
			t.Fatalf("%+q becomes %+q, want %+q", s, got, want)
		}
		if got := nfc.String(norm.NFD.String(s)); got != want {
			t.Fatalf("%+q decomposed becomes %+q, want %+q", s, got, want)
		}
	})
}
