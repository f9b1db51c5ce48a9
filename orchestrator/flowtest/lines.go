package flowtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/orchestrator/agent"
)

// diffRequests returns, line by line, how a request changed; "": it did not. Limits do not
// count.
func diffRequests(was, is agent.Request) string {
	return atMost(diffLines(requestLines(was), requestLines(is)))
}

// requestLines returns the text form of a request, without its Limits.
func requestLines(r agent.Request) []string {
	var b strings.Builder
	part := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n", name, text)
		}
	}
	part("op", r.Op)
	for i, m := range r.History {
		part(fmt.Sprintf("history %d: %s", i, m.Role), m.Text)
		for _, call := range m.ToolCalls {
			part(fmt.Sprintf("history %d: tool call %s of %s", i, call.ID, call.Name), indented(call.Input))
		}
	}
	part("prompt", r.Prompt)
	part("input", indented(r.Input))
	part("output", indented(r.Output))
	if r.Temperature != nil {
		part("temperature", fmt.Sprint(*r.Temperature))
	}
	return strings.Split(b.String(), "\n")
}

// indented returns JSON with one field a line, or data itself if it is no JSON.
func indented(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}

// diffLines returns the lines that only one of two texts has, in their order: "- " marks
// those of was, "+ " those of is.
func diffLines(was, is []string) []string {
	for len(was) > 0 && len(is) > 0 && was[0] == is[0] {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	const most = 1 << 22 // limit of cells in the table of commonLines
	if len(was)*len(is) > most {
		return hunk(was, is)
	}
	same := commonLines(was, is)
	var out, removed, added []string
	for i, j := 0, 0; i < len(was) || j < len(is); {
		switch {
		case i < len(was) && j < len(is) && was[i] == is[j]:
			out = append(out, hunk(removed, added)...)
			removed, added = nil, nil
			i, j = i+1, j+1
		case j == len(is) || i < len(was) && same[i+1][j] >= same[i][j+1]:
			removed = append(removed, was[i])
			i++
		default:
			added = append(added, is[j])
			j++
		}
	}
	return append(out, hunk(removed, added)...)
}

// commonLines returns a table: [i][j] is the length of the longest common subsequence of
// the lines was[i:] and is[j:].
func commonLines(was, is []string) [][]int {
	same := make([][]int, len(was)+1)
	same[len(was)] = make([]int, len(is)+1)
	for i := len(was) - 1; i >= 0; i-- {
		same[i] = make([]int, len(is)+1)
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				same[i][j] = same[i+1][j+1] + 1
			} else {
				same[i][j] = max(same[i+1][j], same[i][j+1])
			}
		}
	}
	return same
}

// hunk returns the marked lines of a part of was that was replaced by one of is.
func hunk(was, is []string) []string {
	var out []string
	show := func(mark string, lines, others []string) {
		for i, line := range lines {
			at := 0
			if i < len(others) {
				at = commonPrefix(line, others[i])
			}
			out = append(out, mark+excerpt(line, at))
		}
	}
	show("- ", was, is)
	show("+ ", is, was)
	return out
}
