import type { Prose } from './prose.ts'

interface Rule {
  rejected: RegExp
  instead: string
}

const rules: readonly Rule[] = [
  { rejected: /\bwhoever\b/i, instead: 'the caller, a client, anyone who' },
  { rejected: /\bwhatever\b/i, instead: 'any, regardless of' },
  { rejected: /\bwhosoever|\bwhichever it\b/i, instead: 'the name of the thing' },
  { rejected: /\banew\b/i, instead: 'again, new' },
  { rejected: /\bbeside\b/i, instead: 'next to, alongside, besides' },
  { rejected: /\bto be had\b/i, instead: 'available' },
  {
    rejected:
      /\b(?:is|are|was|were) (?:told|said)\b|\btold (?:of|that|to)\b|\b(?:it|that|which|this|line|header|file|answer|reply|response|code) (?:says|tells)\b/i,
    instead: 'states, contains, reports',
  },
  {
    rejected:
      /(?<!there )\b(?:is|are) no (?!longer|more|way|need|reason|such|other|different|effect|room|point|guarantee)[a-z]+\b(?! than)/i,
    instead: 'is not a ...',
  },
  { rejected: /\bso (?:many|long|much) (?!as|that|more|as)\b[a-z]/i, instead: 'up to, at most' },
  {
    rejected: /\bof (?:its|their|one's|his) own(?=[.,;:)]|$| (?:and|so|that|for|with|to|in|on)\b)/i,
    instead: 'own, separate',
  },
  { rejected: /\bby itself\b/i, instead: 'nothing, or automatically' },
  {
    rejected: /\b(?:lets?|letting) (?:\w+ ){0,3}in\b(?! progress| the| a| an| one| this| its)|\bkeeps? (?:\w+ )?out\b/i,
    instead: 'allows, admits, rejects',
  },
  { rejected: /\bgo(?:es)? by\b/i, instead: 'uses, follows' },
  {
    rejected: /\b(?:is|are|was) over\b(?! \d| the| a | an | HTTP| TLS| TCP| Redis)/i,
    instead: 'expired, finished, ended',
  },
  { rejected: /\bat once\b/i, instead: 'immediately, in one batch' },
  { rejected: /\b(?:for |after |takes? )?a while\b/i, instead: 'a duration, temporarily' },
  { rejected: /\bfor want of\b|\bin vain\b|\bof no use\b|\bfor naught\b/i, instead: 'without, unsuccessfully' },
  {
    rejected: /\b(?:comes? to nothing|come of it|came of it|goes under way|under way)\b/i,
    instead: 'fails, result, starts',
  },
  {
    rejected: /(?:^|[.:;] )What (?!is|are|does|do|did|happens|if|to|can|should|else)[a-z]+ [^?.]*\.(?: |$)/,
    instead: 'the noun for it',
  },
  {
    rejected: /\b(?:therein|thereof|whereof|thereby|hitherto|henceforth|forthwith|meanwhile none)\b/i,
    instead: 'a plain adverb',
  },
  { rejected: /\b(?:interface|completions|hardening|design|style)\.md\b/, instead: 'a document in this repository' },
]

export function rejectedExpressions(texts: readonly Prose[]): string[] {
  return texts.flatMap(({ at, text }) =>
    rules.flatMap(({ rejected, instead }) => {
      const match = rejected.exec(text)
      return match ? [`${at} "${match[0].trim()}": write ${instead} (${text.slice(0, 90)})`] : []
    }),
  )
}
