import { posix } from 'node:path'
import { importsOf, type Source } from './check.ts'

export interface TreeMeasures {
  files: number
  medianLines: number
  ninthDecileLines: number
  largest: { path: string; lines: number }
  small: string[]
}

function linesOf({ text }: Source): number {
  return text.split('\n').length - 1
}

export function measureTree(sources: readonly Source[], smallBelow: number): TreeMeasures {
  const sized = sources
    .map((source) => ({ path: source.path, lines: linesOf(source) }))
    .sort((a, b) => a.lines - b.lines)
  const at = (share: number) => sized[Math.min(sized.length - 1, Math.floor(sized.length * share))]?.lines ?? 0
  const largest = sized.at(-1) ?? { path: '', lines: 0 }
  return {
    files: sized.length,
    medianLines: at(0.5),
    ninthDecileLines: at(0.9),
    largest,
    small: sized.filter(({ lines }) => lines < smallBelow).map(({ path }) => path),
  }
}

export function crowdedFolders(sources: readonly Source[], maxFiles: number): string[] {
  const counts = new Map<string, number>()
  for (const { path } of sources) {
    const folder = posix.dirname(path)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].filter(([, count]) => count > maxFiles).map(([folder, count]) => `${folder}: ${count} files`)
}

/** Includes type-only imports. */
export function importCycles(sources: readonly Source[]): string[] {
  const known = new Set(sources.map(({ path }) => path))
  const imports = new Map(
    sources.map((source) => [source.path, importsOf(source).filter((target) => known.has(target))]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      cycles.push([...trail.slice(start), path].join(' -> '))
      return
    }
    if (done.has(path)) return
    for (const target of imports.get(path) ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  return cycles
}
