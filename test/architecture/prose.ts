import { type Comment, parseSync, Visitor } from 'oxc-parser'

export interface Prose {
  /** `path:line`. */
  at: string
  text: string
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function joinLineComments(source: string, comments: readonly Comment[]): { start: number; value: string }[] {
  const joined: { start: number; end: number; value: string }[] = []
  for (const { type, start, end, value } of comments) {
    const last = joined.at(-1)
    const plain = value.replace(/^\s*\*+ ?/gm, '')
    if (type === 'Line' && last && source.slice(last.end, start).trim() === '' && source[last.start + 1] === '/') {
      last.value += ` ${plain.trim()}`
      last.end = end
    } else joined.push({ start, end, value: plain })
  }
  return joined
}

/** Includes string literals of three or more words: messages, descriptions, test titles. */
export function proseOfSource(path: string, source: string): Prose[] {
  const { program, comments } = parseSync(path, source)
  const found: Prose[] = []
  const add = (offset: number, text: string): void => {
    found.push({ at: `${path}:${lineOf(source, offset)}`, text: text.replace(/\s+/g, ' ').trim() })
  }
  for (const { start, value } of joinLineComments(source, comments)) add(start, value)
  new Visitor({
    Literal: ({ value, start }) => {
      if (typeof value === 'string' && /[a-z]\s+\S+\s+\S/i.test(value)) add(start, value)
    },
    TemplateElement: ({ value, start }) => {
      if (/[a-z]\s+\S+\s+\S/i.test(value.raw)) add(start, value.raw)
    },
  }).visit(program)
  return found
}

export function proseOfMarkdown(path: string, markdown: string): Prose[] {
  const found: Prose[] = []
  let paragraph: string[] = []
  let start = 0
  let isCode = false
  const flush = (): void => {
    const text = paragraph.join(' ').replace(/\s+/g, ' ').trim()
    if (text !== '') found.push({ at: `${path}:${start}`, text })
    paragraph = []
  }
  for (const [index, line] of markdown.split('\n').entries()) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode
      flush()
      continue
    }
    if (isCode) continue
    const plain = line
      .replace(/`[^`]*`/g, 'x')
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/<[^>]+>/g, ' ')
    if (/^\s*(?:[-*+]|\d+\.)\s|^\s*#|^\s*\||^\s*>|^\s*$/.test(plain)) flush()
    if (/^\s*\|/.test(plain)) {
      for (const cell of plain.split('|'))
        if (/[a-z]/i.test(cell)) found.push({ at: `${path}:${index + 1}`, text: cell.trim() })
      continue
    }
    if (plain.trim() === '') continue
    if (paragraph.length === 0) start = index + 1
    paragraph.push(plain.replace(/^\s*(?:[-*+]|\d+\.|#+|>)\s+/, ''))
    if (/^\s*#/.test(plain)) flush()
  }
  flush()
  return found
}

export function proseOfLines(path: string, text: string): Prose[] {
  return text.split('\n').flatMap((line, index) => {
    const part =
      /^\s*#+!?\s*(.*)$/.exec(line)?.[1] ?? (/\.ya?ml$/.test(path) ? /:\s+['"]?(\S+ .*)$/.exec(line)?.[1] : undefined)
    return part && /[a-z]/i.test(part) ? [{ at: `${path}:${index + 1}`, text: part }] : []
  })
}

/** Words per sentence. Only full stops end a sentence. */
export function sentenceLengths(texts: readonly Prose[]): number[] {
  return texts.flatMap(({ text }) =>
    text
      .split(/(?<=[.!?])\s+(?=[A-Z"'(])/)
      .map((sentence) => sentence.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word)).length)
      .filter((words) => words > 2),
  )
}
