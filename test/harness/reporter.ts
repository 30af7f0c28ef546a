import {
  DefaultReporter,
  type TestCase,
  type TestModule,
  type TestModuleState,
  type TestRunEndReason,
  type Vitest,
} from 'vitest/node'

type Unhandled = Parameters<DefaultReporter['onTestRunEnd']>[1]

function isInFailedSuite({ parent }: TestCase): boolean {
  for (let at = parent; ; at = at.parent) {
    if (at.errors().length > 0) return true
    if (at.type === 'module') return false
  }
}

function reasonOf(test: TestCase, isFiltered: boolean): string {
  const result = test.result()
  const reason = (result.state === 'skipped' ? result.note : undefined) ?? test.meta().skipReason
  if (reason !== undefined) return reason
  if (isInFailedSuite(test)) return 'the setup of the suite failed'
  return isFiltered ? 'the name does not match' : `no reason: ${test.module.relativeModuleId}`
}

/** Returns the reasons of the skipped tests with the number of tests, the most frequent first. */
function countSkips(modules: readonly TestModule[], isFiltered: boolean): [reason: string, count: number][] {
  const counts = new Map<string, number>()
  for (const module of modules)
    for (const test of module.children.allTests('skipped')) {
      const reason = reasonOf(test, isFiltered)
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
    }
  return [...counts].sort(([a, left], [b, right]) => right - left || a.localeCompare(b))
}

function cpuOf(module: TestModule): number {
  return module.meta().cpuSeconds ?? 0
}

function sumCpu(modules: readonly TestModule[]): number {
  return modules.reduce((sum, each) => sum + cpuOf(each), 0)
}

function toLine(seconds: number, what: string): string {
  return `${seconds.toFixed(1).padStart(8)}  ${what}`
}

/** A shorter run is not about the suite as a whole. */
const leastModules = 20

/** Returns the CPU time of each project, and of the ten files with the most. */
function cpuLines(modules: readonly TestModule[]): string[] {
  if (modules.length < leastModules) return []
  const projects = [...Map.groupBy(modules, ({ project }) => project.name)]
  const slowest = [...modules].sort((left, right) => cpuOf(right) - cpuOf(left)).slice(0, 10)
  return [
    `CPU seconds: ${sumCpu(modules).toFixed(0)}`,
    ...projects.map(([name, files]) => toLine(sumCpu(files), `${name}, ${files.length} files`)),
    'The ten files with the most CPU seconds:',
    ...slowest.map((module) => toLine(cpuOf(module), `${module.project.name} ${module.relativeModuleId}`)),
    '',
  ]
}

/** Prints failures, a summary, CPU times, and the skipped tests by reason. A terminal also shows the progress. */
export default class Reporter extends DefaultReporter {
  override onInit(vitest: Vitest): void {
    this.silent ??= 'passed-only'
    super.onInit(vitest)
  }

  override onTestRunEnd(modules: readonly TestModule[], unhandled: Unhandled, reason: TestRunEndReason): void {
    super.onTestRunEnd(modules, unhandled, reason)
    for (const line of cpuLines(modules)) this.log(line)
    const skips = countSkips(modules, this.ctx.config.testNamePattern !== undefined)
    if (skips.length === 0) return
    this.log(`Skipped tests: ${skips.reduce((sum, [, count]) => sum + count, 0)}`)
    for (const [why, count] of skips) this.log(`${String(count).padStart(8)}  ${why}`)
    this.log()
  }

  protected override printTestModule(module: TestModule): void {
    if (module.state() === 'failed') super.printTestModule(module)
  }

  protected override printTestCase(state: TestModuleState, test: TestCase): void {
    if (test.result().state === 'failed') super.printTestCase(state, test)
  }
}
