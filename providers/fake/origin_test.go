package fake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func TestRulesByOrigin(t *testing.T) {
	m := fake.New(nil, fake.Text("else"))
	m.When(fake.Rule{Op: "work", Task: "t-1", Attempt: 2, Answer: fake.Text("second attempt"), Times: 1})
	m.When(fake.Rule{Op: "work", Task: "t-1", Answers: []fake.Answer{fake.Text("one"), fake.Text("two")}})
	m.When(fake.Rule{Task: "t-2", Answer: fake.Text("task two")})
	m.When(fake.Rule{Op: "check", Text: "do", Answer: fake.Text("checked")})
	for _, step := range []struct {
		o    providers.Origin
		want string
	}{
		{providers.Origin{Op: "work", Task: "t-1", Attempt: 1}, "one"},
		{providers.Origin{Op: "work", Task: "t-1", Attempt: 2}, "second attempt"},
		{providers.Origin{Op: "work", Task: "t-2", Attempt: 2}, "task two"},
		{providers.Origin{Op: "work", Task: "t-1", Attempt: 2}, "two"},
		{providers.Origin{Op: "check", Task: "t-1"}, "checked"},
		{providers.Origin{}, "else"},
	} {
		resp, err := m.Generate(providers.WithOrigin(t.Context(), step.o), user("do"))
		require.NoError(t, err, "%+v", step.o)
		assert.Equal(t, step.want, resp.Text, "%+v", step.o)
	}
	_, err := m.Generate(providers.WithOrigin(t.Context(), providers.Origin{Op: "work", Task: "t-3", Attempt: 4}), user("do"))
	require.Error(t, err)
	report := m.Check()
	require.Error(t, report)
	assert.ErrorContains(t, report, `op "work", task "t-3", attempt 4`)
	assert.ErrorContains(t, report, `rule for op "work", task "t-1", attempt 2, used 1 times of 1`)
}
