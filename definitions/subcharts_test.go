package definitions

import "testing"

// TestSubcharts: Helm does not download the dependencies of a chart in the charts directory of another chart.
func TestSubcharts(t *testing.T) {
	const chart = "apiVersion: v2\nname: app\nversion: 1.2.3\ndependencies: [{name: db, version: 1.2.3, repository: 'oci://one.test'}]\n"
	const found = "https://one.test db:1.2.3,notice noMatchingCredentials"
	parent := map[string]string{"a/Chart.yaml": chart}
	for _, rule := range []formatRule{
		{name: "a chart", file: "a/Chart.yaml", text: chart, want: found},
		{name: "a subchart", file: "a/charts/app/Chart.yaml", text: chart, more: parent, want: "skipped local"},
		{name: "a lock of a subchart", file: "a/charts/app/Chart.lock", text: chart, more: parent, want: "skipped local"},
		{name: "a subchart of a subchart", file: "a/charts/app/charts/db/Chart.yaml", text: chart,
			more: map[string]string{"a/charts/app/Chart.yaml": chart}, want: "skipped local"},
		{name: "a subchart of the root", file: "charts/app/Chart.yaml", text: chart, more: map[string]string{"Chart.yaml": chart},
			want: "skipped local"},
		{name: "a subchart without dependencies", file: "a/charts/app/Chart.yaml", text: "apiVersion: v2\nname: app\nversion: 1.2.3\n",
			more: parent},
		{name: "a directory of charts", file: "a/charts/app/Chart.yaml", text: chart, want: found},
		{name: "a chart in another directory", file: "a/more/app/Chart.yaml", text: chart, more: parent, want: found},
		{name: "a chart deeper in charts", file: "a/charts/more/app/Chart.yaml", text: chart, more: parent, want: found},
		{name: "an example of a chart", file: "a/app/Chart.yaml", text: chart, more: parent, want: found},
	} {
		rule.check(t)
	}
}
