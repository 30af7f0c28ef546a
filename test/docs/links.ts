import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Brackets and hashes in fenced blocks are neither links nor headings. */
function proseOf(page: string): string {
  return readFileSync(page, 'utf8').replaceAll(/^ *```.*?^ *```$/gms, '')
}

/** As GitHub creates them: a repeated heading gets a number. */
function anchorsOf(page: string): string[] {
  const counts = new Map<string, number>()
  return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
}

function targetsOf(page: string): string[] {
  return [...proseOf(page).matchAll(/\]\(([^)]+)/g)].map(([, link = '']) => link)
}

function isExternal(link: string): boolean {
  return /^https?:/.test(link)
}

/** Links to files, relative to the page. */
export function linksOf(page: string): string[] {
  return targetsOf(page).filter((link) => !isExternal(link))
}

/** Paths in the repository to which a page links by address, because the package lacks them. */
export function repositoryPathsOf(page: string): string[] {
  return targetsOf(page).flatMap(
    (link) => /^https:\/\/github\.com\/portico-gateway\/portico\/(?:blob|tree)\/main\/([^#]+)/.exec(link)?.[1] ?? [],
  )
}

/** The file must exist, and so must the heading if the link names one. */
export function leads(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return existsSync(target) && (anchor === undefined || anchorsOf(target).includes(anchor))
}
