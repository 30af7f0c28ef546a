import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../harness/settings.ts'
import { documentationFiles } from './shell-blocks.ts'

const maxWords = 25

/** The descriptions of settings are in their schema. */
function isWritten(file: string): boolean {
  return file !== 'docs/reference/configuration.md'
}

function textsOf(markdown: string): string[] {
  return (
    markdown
      .replaceAll(/^ *```.*?^ *```$/gms, '')
      .replaceAll(/<!--.*?-->/gs, '')
      .replaceAll(/`[^`]*`/g, 'code')
      // Not a sentence: a list of names.
      .replaceAll(/code(, code)+/g, 'code')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .split(/\n\s*\n|\n(?=\s*(?:[-#|]|\d+\.)\s?)| \| /)
      .map((text) => text.replaceAll(/\s+/g, ' ').trim())
  )
}

function sentencesOf(markdown: string): string[] {
  return textsOf(markdown).flatMap((text) => text.split(/(?<=[.:!?])\s+(?=\S)/))
}

test.each(
  documentationFiles()
    .filter((file) => file.startsWith('docs/') || file === 'README.md')
    .filter(isWritten),
)(`%s has no sentence of more than ${maxWords} words`, (file) => {
  const sentences = sentencesOf(readFileSync(join(root, file), 'utf8'))
  expect(sentences.filter((sentence) => sentence.split(' ').length > maxWords)).toEqual([])
})
