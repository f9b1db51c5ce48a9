package grading_test

import (
	"math"

	"github.com/convene-go/convene/grading"
)

// These are the defaults as functions of what the specifications speak of.

func decide(score, threshold float64) grading.Decision {
	return grading.DefaultBands.Decide(grading.Standing{Score: score, Threshold: threshold})
}

func review(score, threshold float64) grading.ReviewStatus {
	return grading.DefaultReserve.Decide(grading.Standing{Score: score, Threshold: threshold})
}

func next(score, threshold float64, iteration, most int) grading.Verdict {
	return grading.Rounds{}.Decide(grading.Standing{Score: score, Threshold: threshold, Try: iteration, Most: most})
}

func resolve(agent, department *float64) float64 {
	return grading.DefaultFixed.Threshold(grading.Subject{Own: agent, Shared: department}, nil)
}

func adapt(current float64, history []float64) float64 {
	return grading.Adaptive{}.Threshold(grading.Subject{Own: &current}, history)
}

// dimensions are those of a hierarchy's outputs, 0 to 1.
type dimensions struct{ Quality, Relevance, Consistency float64 }

// percent is the score of dimensions, 0 to 100.
func percent(d dimensions) (float64, error) {
	return grading.DefaultDimensions.Score(grading.Marks{
		{Name: "quality", Value: 100 * d.Quality}, {Name: "relevance", Value: 100 * d.Relevance}, {Name: "consistency", Value: 100 * d.Consistency},
	})
}

// facets are the dimensions of an article, 0 to 1.
type facets struct{ Article, Source, Factual, Writing float64 }

// overall is the score of facets, 0 to 1.
func overall(f facets, w grading.Weighted) (float64, error) {
	return w.Score(grading.Marks{
		{Name: "article", Value: f.Article}, {Name: "source", Value: f.Source}, {Name: "factual", Value: f.Factual}, {Name: "writing", Value: f.Writing},
	})
}

// weights are those of the four facets.
func weights(article, source, factual, writing float64) grading.Weighted {
	return grading.Weighted{"article": article, "source": source, "factual": factual, "writing": writing}
}

// quality is that of a department, and as a whole number.
func quality(results []grading.Mark) (raw float64, rounded int) {
	raw, err := grading.DefaultApproval.Score(results)
	if err != nil {
		return math.NaN(), 0
	}
	return raw, grading.Round(raw)
}

// weighted is the mean of values by weights.
func weighted(values, weights []float64) float64 {
	var marks grading.Marks
	for i, v := range values {
		m := grading.Mark{Value: v}
		if i < len(weights) {
			m.Weight = weights[i]
		}
		marks = append(marks, m)
	}
	mean, err := grading.Mean{}.Score(marks)
	if err != nil {
		return math.NaN()
	}
	return mean
}
