// Command kpt is the `fn` part of kpt (`kpt fn render`, `kpt fn eval`, …) and nothing else.
//
// kpt itself cannot be had by `go install`: one of its own modules, which only the other
// commands need, is not published. The code that runs functions is kpt's, unchanged.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/kptdev/kpt/commands/fn"
	"github.com/kptdev/kpt/pkg/printer"
	"github.com/spf13/cobra"
)

func main() {
	ctx := printer.WithContext(context.Background(), printer.New(os.Stdout, os.Stderr))
	kpt := &cobra.Command{Use: "kpt", SilenceErrors: true, SilenceUsage: true}
	kpt.PersistentFlags().BoolVar(&printer.TruncateOutput, "truncate-output", true, "show only the first lines of a function's stderr")
	kpt.AddCommand(fn.GetCommand(ctx, "kpt"))
	if err := kpt.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
