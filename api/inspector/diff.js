// Two texts side by side, line by line. Pure functions.

const MOST_CELLS = 4_000_000;

/** Rows of two texts: the line of each, null where it has none; `same` where they agree. */
export function diffLines(before, after) {
  const [left, right] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) {
    head += 1;
  }
  let tail = 0;
  while (tail < Math.min(left.length, right.length) - head && left.at(-1 - tail) === right.at(-1 - tail)) {
    tail += 1;
  }
  const same = (lines) => lines.map((line) => ({ left: line, right: line, same: true }));
  const middle = between(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  return [...same(left.slice(0, head)), ...paired(middle), ...same(left.slice(left.length - tail))];
}

/** Lines that are taken, left out or kept, by the longest common run of lines. */
function between(left, right) {
  if (left.length * right.length > MOST_CELLS) {
    return [...left.map((line) => ({ left: line })), ...right.map((line) => ({ right: line }))];
  }
  const width = right.length + 1;
  const longest = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = left[i] === right[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      found.push({ left: left[i], right: right[j], same: true });
      [i, j] = [i + 1, j + 1];
    } else if (j >= right.length || (i < left.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      found.push({ left: left[i] });
      i += 1;
    } else {
      found.push({ right: right[j] });
      j += 1;
    }
  }
  return found;
}

/** A run of old lines stands beside the run of new lines that follows it. */
function paired(rows) {
  const found = [];
  let [old, fresh] = [[], []];
  const flush = () => {
    for (let place = 0; place < Math.max(old.length, fresh.length); place += 1) {
      found.push({ left: old[place] ?? null, right: fresh[place] ?? null, same: false });
    }
    [old, fresh] = [[], []];
  };
  for (const row of rows) {
    if (row.same) {
      flush();
      found.push(row);
    } else if (row.left !== undefined) {
      old.push(row.left);
    } else {
      fresh.push(row.right);
    }
  }
  flush();
  return found;
}
