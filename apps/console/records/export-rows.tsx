import { t } from '../../kit/i18n.ts'

interface Props {
  /** The name of the file without `.csv`. */
  name: string
  header: readonly string[]
  rows(): readonly (readonly (string | number | null)[])[]
}

/** Saves the rows that the page has loaded as a CSV file (RFC 4180). */
export function ExportRows({ name, header, rows }: Props) {
  const save = (): void => {
    const text = [header, ...rows()].map((row) => row.map(cellOf).join(',')).join('\r\n')
    // Spreadsheets read UTF-8 only after a byte order mark.
    const url = URL.createObjectURL(new Blob([`\uFEFF${text}\r\n`], { type: 'text/csv' }))
    const link = document.createElement('a')
    link.href = url
    link.download = `${name}.csv`
    link.click()
    URL.revokeObjectURL(url)
  }
  return (
    <div className="form-actions">
      <button type="button" onClick={save}>
        {t('records.export')}
      </button>
    </div>
  )
}

/** Quotes the text. The apostrophe keeps spreadsheets from running a text as a formula. */
function cellOf(value: string | number | null): string {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
