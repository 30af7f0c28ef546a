/* `npm run bench` compares Portico with other servers, each in a separate process. See docs/guides/load-test.md. */
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { growths } from './growth/index.ts'
import { drawGrowth, growthTable, measureGrowth, type Scale } from './growth/lists.ts'
import { curveTable, drawCurve } from './growth/table.ts'
import { generator } from './load/spray.ts'
import { type Options, readOptions, usage } from './options.ts'
import { chart, page } from './report/chart.ts'
import type { Outcome } from './report/outcome.ts'
import { evaluate, table, verdictTable } from './report/table.ts'
import { pinning } from './rig/processes.ts'
import { openRig } from './rig/workspace.ts'
import { scenarios } from './scenarios/index.ts'
import { closeStores } from './store/stores.ts'
import { targets } from './targets.ts'

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

function machine(): string {
  return `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.versions.node}, load by ${generator}; ${pinning}`
}

async function measureLists(scale: Scale, { json, svg }: Options): Promise<number> {
  print(machine())
  const growth = await measureGrowth(scale, print)
  print(`\n${growthTable(growth)}`)
  if (json) writeFileSync(json, JSON.stringify({ machine: machine(), growth }, null, 2))
  if (svg) drawGrowth(growth, svg)
  return 0
}

/** `--svg` names the picture of each: `growth.svg` becomes `growth-operations.svg`. */
async function measureCurves(options: Options): Promise<number> {
  print(machine())
  const curves = []
  for (const name of options.growths) {
    const measure = growths[name]
    if (!measure) throw new TypeError(`no growth '${name}'; there are ${Object.keys(growths).join(', ')}`)
    await using rig = openRig()
    const curve = await measure(rig, options)
    curves.push(curve)
    print(`\n${curve.title}\n\n${curveTable(curve)}`)
    if (options.svg) drawCurve(curve, options.svg.replace(/(\.svg)?$/, `-${name}.svg`))
  }
  if (options.json) writeFileSync(options.json, JSON.stringify({ machine: machine(), curves }, null, 2))
  return 0
}

async function measure(args: string[]): Promise<number> {
  const options = readOptions(args)
  if (!options) {
    print(`${usage}\nscenarios: ${Object.keys(scenarios).join(', ')}`)
    return 0
  }
  if (options.scale) return measureLists(options.scale, options)
  if (options.growths.length > 0) return measureCurves(options)
  const names = options.scenarios.length > 0 ? options.scenarios : Object.keys(scenarios)
  const outcomes: Outcome[] = []
  print(machine())
  for (const name of names) {
    const scenario = scenarios[name]
    if (!scenario) throw new TypeError(`no scenario '${name}'; there are ${Object.keys(scenarios).join(', ')}`)
    if (performance.now() / 1000 > options.limitSeconds) {
      print(`${name}: skipped, the time is up`)
      continue
    }
    const begun = performance.now()
    await using rig = openRig()
    const outcome = await scenario(rig, options)
    outcomes.push(outcome)
    process.stderr.write(`${name} took ${((performance.now() - begun) / 1000).toFixed(0)} s\n`)
    for (const profile of outcome.profiles) print(`\n${profile}`)
  }
  const verdicts = evaluate(targets, outcomes)
  const faults = outcomes.flatMap((outcome) => outcome.faults.map((fault) => `${outcome.scenario}: ${fault}`))
  const notes = outcomes.flatMap((outcome) => outcome.notes.map((note) => `${outcome.scenario}: ${note}`))
  const tables = [table(outcomes), ...notes, ...(verdicts.length > 0 ? ['', verdictTable(verdicts)] : [])].join('\n')
  print(`\n${tables}`)
  if (options.json)
    writeFileSync(options.json, JSON.stringify({ machine: machine(), options, outcomes, verdicts }, null, 2))
  if (options.svg) writeFileSync(options.svg, chart(outcomes, machine()))
  if (options.html) writeFileSync(options.html, page(outcomes, machine(), tables))
  for (const fault of faults) print(`WRONG  ${fault}`)
  return faults.length > 0 ? 1 : 0
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
try {
  process.exitCode = await measure(process.argv.slice(2))
} finally {
  await closeStores()
}
