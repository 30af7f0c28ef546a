import { readdirSync } from 'node:fs'

/** An import rule. Paths are relative to src, with forward slashes. */
export interface ImportRule {
  name: string
  /** The files to which the rule applies. */
  from: RegExp
  /** The forbidden imports: files of this project by path, packages and built-in modules by their specifier. */
  forbids: RegExp
  /** Exceptions to `from` and to `forbids`. */
  exceptFrom?: RegExp
  exceptTo?: RegExp
}

export interface TextRule {
  name: string
  in: RegExp
  except?: RegExp
  forbids: RegExp
}

/** Matches every folder and file directly below src. */
const ours = readdirSync(new URL('../../src', import.meta.url), { withFileTypes: true })
  .map((entry) => (entry.isDirectory() ? `${entry.name}/` : `${entry.name.replace('.', '\\.')}$`))
  .join('|')
/** Matches every folder and file except these folders. */
const allBut = (...folders: string[]): RegExp => new RegExp(`^(?!(${folders.join('|')})/)(${ours})`)

/** Contract files run in a browser: the building blocks, and the `contract.ts` of each owner. */
const contractFile = /^contract\/|(^|\/)contract\.ts$/

export const importRules: ImportRule[] = [
  {
    name: 'kernel imports nothing of ours',
    from: /^kernel\//,
    forbids: allBut('kernel'),
  },
  {
    name: 'contract files import the kernel and other contract files',
    from: contractFile,
    forbids: allBut('kernel', 'contract'),
    exceptTo: contractFile,
  },
  {
    name: 'kernel and contract files are safe in a browser',
    from: /^(kernel|contract)\/|(^|\/)contract\.ts$/,
    forbids: /^node:|^(express|kysely|pg|undici|jose|pino)/,
  },
  {
    name: 'only app.ts, gateway and backends see Express',
    from: /./,
    exceptFrom: /^(app\.ts$|gateway\/|backends\/)/,
    forbids: /^(express|http-proxy-middleware|helmet|pino-http)$/,
  },
  {
    name: 'only compose chooses implementations',
    from: /./,
    exceptFrom: /^(main|cli|app|portico)\.ts$|^(compose|cli|testing)\//,
    forbids: /^((main|cli|portico)\.ts$|(compose|cli)\/)/,
  },
  {
    name: 'compose gets domains from domains/index.ts, and only by their definitions',
    from: /^compose\//,
    forbids: /^domains\/(?!index\.ts$)/,
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'domains do not import the gateway, identity or backends',
    from: /^domains\//,
    forbids: /^(gateway|identity|backends)\//,
    exceptTo: /^gateway\/pipeline\/ports\.ts$|\/contract\.ts$/,
  },
  {
    name: 'identity does not import domains, ledger, gateway or backends',
    from: /^identity\//,
    forbids: /^(domains|ledger|gateway|backends)\//,
    exceptTo: /^gateway\/pipeline\/ports\.ts$|\/contract\.ts$/,
  },
  {
    name: 'the ledger imports no domain',
    from: /^ledger\//,
    forbids: /^(domains|identity|gateway|backends)\//,
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'database imports the kernel, platform imports the kernel and the database',
    from: /^(database|platform)\//,
    forbids: allBut('kernel', 'database', 'platform'),
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'the gateway imports no domain and no identity',
    from: /^gateway\//,
    forbids: /^(domains|identity|ledger)\//,
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'the client imports kernel and contract files only, and is safe in a browser',
    from: /^client\//,
    forbids: new RegExp(`^node:|${allBut('kernel', 'contract', 'client').source}`),
    exceptTo: contractFile,
  },
  {
    name: 'only stores, schemas and database see SQL',
    from: /./,
    // api/index.ts passes `sql` on to extensions.
    exceptFrom: /(^|\/)(store|schema|[a-z-]+-store)\.ts$|\/schema\/|^database\/|^api\/index\.ts$/,
    forbids: /^(kysely|pg|@electric-sql\/pglite)(\/|$)/,
  },
]

export const textRules: TextRule[] = [
  {
    // If zod is imported by name, a bundler can include all of it, with 350 KB for 50 languages that nothing uses.
    name: 'what a browser loads imports zod as a namespace',
    in: /^(kernel|contract|client)\/|(^|\/)contract\.ts$/,
    forbids: /^import \{ z \} from 'zod'/m,
  },
  { name: 'process.env is read in one file', in: /./, except: /^config\/env\.ts$/, forbids: /\bprocess\.env\b/ },
  {
    name: 'the clock is handed in',
    in: /./,
    except: /^platform\/runtime\//,
    forbids: /\bDate\.now\(|\bnew Date\(\)/,
  },
  {
    name: 'randomness is handed in',
    in: /./,
    except: /^(platform\/(runtime|crypto)|client)\//,
    forbids: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/,
  },
  {
    name: 'no enum, no any, no switched-off check',
    in: /./,
    forbids: /\benum [A-Z]|\bas any\b|: any\b|@ts-(ignore|expect-error|nocheck)/,
  },
  {
    // The bundler assumes that these calls have no effect and removes them, including the errors that they would throw.
    name: 'nothing built in is called only for what it throws',
    in: /./,
    forbids:
      /\btry \{\n\s*(void )?((en|de)codeURI(Component)?|URL\.canParse|String(\.\w+)?|Number|BigInt|Math\.\w+|parse(Int|Float))\(.*\)$/m,
  },
]

/**
 * Whether a domain imports another one. Files in `domains/a/` can only import from `domains/a/` and from contract
 * files.
 */
export const isForeignDomain = (from: string, to: string): boolean => {
  const room = (path: string) => /^domains\/([^/]+)\//.exec(path)?.[1]
  const [a, b] = [room(from), room(to)]
  return a !== undefined && b !== undefined && a !== b && !/\/contract\.ts$/.test(to)
}

/**
 * Other folders import a domain, identity and the ledger through `index.ts`, or their contract files. Compose also
 * imports the schemas of identity and the ledger, to migrate the store.
 */
export const isSideEntrance = (from: string, to: string): boolean => {
  const ownerOf = (path: string) => /^(domains\/[^/]+|identity|ledger)\//.exec(path)?.[1]
  const target = ownerOf(to)
  if (target === undefined || ownerOf(from) === target || to === `${target}/index.ts`) return false
  if (
    from === 'compose/migrations.ts' &&
    !target.startsWith('domains/') &&
    /^\/schema(\/index)?\.ts$/.test(to.slice(target.length))
  )
    return false
  return !/\/contract\.ts$/.test(to)
}
