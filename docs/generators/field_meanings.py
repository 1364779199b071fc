"""What each field of a registry means, in the field's words."""

REGISTRY = {
    "max_age_days": "How many days old a report may be when it is counted. The device drops what "
    "is older, and the collector then closes the day: ids and spend of that day are deleted.",
    "daily_epsilon": "What one device may spend on a UTC day, over all metrics.",
    "lifetime_epsilon": "What one device may spend for life, over all metrics.",
}

METRIC = {
    "mechanism": "How a value is encoded and perturbed; a heading below. `auto` is replaced by "
    "`rumor plan --write FILE`.",
    "revision": "Raise it whenever the mechanism, a parameter or the values change: a stored bit "
    "means something else then. The collector refuses a change without it.",
    "question": "What is asked, in words that the device's owner understands.",
    "owner": "Who answers for the metric, such as an address.",
    "purpose": "What it is for. The owner of a device consents to each purpose.",
    "expires": "The last valid UTC day, inclusive. Later reports are refused.",
    "family": "Metrics whose answers hang together, such as two questions about one habit. The "
    "device charges them to one account as well, with the largest allowance that one of them "
    "declares. A renamed metric keeps its family.",
    "daily_epsilon": "What one device may spend on this metric on a UTC day.",
    "lifetime_epsilon": "What one device may spend on this metric for life.",
    "other": "One of `values`, which stands for every text outside them. Without it the client "
    "raises InvalidValue.",
    "changes_sensitive": "Whether it must stay hidden that an answer changed. True forbids a "
    "memoised mechanism.",
    "min_reports": "Estimates are withheld until so many reports are counted.",
    "expected_devices": "How many devices are expected on a day. `rumor registry check` warns "
    "where a kept cohort would hold fewer than 100 of them.",
}

MECHANISMS = {
    "epsilon": "Epsilon of one report. What is charged never exceeds it.",
    "values": "The closed domain, in an order that must not change within a revision.",
    "cohorts": "How many cohorts there are. Under `rappor` a device keeps its cohort, and eight "
    "bits of identity are the most; elsewhere each report draws one.",
    "hash_range": "How many cells a value is hashed to.",
    "field": "How many elements the field of the projective geometry has: a prime near "
    "e^epsilon + 1.",
    "columns": "How many columns a value is hashed to; a power of two under `hcms`.",
    "bits": "Length of the Bloom filter.",
    "hashes": "How many hashes set bits of the filter.",
    "hashing": "Which bits a value sets: `mix` is ours, `rappor_md5` that of Google's clients.",
    "client": "Under `rappor_md5`, whose devices report: `exact`, `python`, `cpp` or `java`.",
    "epsilon_infinity": "What all reports of one unchanging value cost together. Give it with "
    "`epsilon_first_report`, or give `f`, `p` and `q`.",
    "epsilon_first_report": "What a single report costs; below `epsilon_infinity`.",
    "f": "Probability that a bit of the permanent answer is a fair coin. 0 memoises nothing.",
    "p": "Probability that a permanent 0 is reported as 1.",
    "q": "Probability that a permanent 1 is reported as 1.",
    "max_values": "How many values get a permanent answer of their own. A later one answers from "
    "the slot that was filled last. A life costs at most `epsilon_infinity` times this.",
}

# What holds where a field is absent, where the code computes it or leaves it out.
ABSENT = {
    "registry.daily_epsilon": "the largest `daily_epsilon` of a metric",
    "registry.lifetime_epsilon": "no cap",
    "metrics.question": "the name",
    "metrics.family": "the name",
    "metrics.daily_epsilon": "the epsilon of one report",
    "metrics.lifetime_epsilon": "no cap",
    "metrics.other": "none",
    "metrics.expected_devices": "unknown",
    "binary.values": '`["false", "true"]`',
    "local_hashing.values": "any text",
    "local_hashing.hash_range": "e^epsilon + 1, rounded",
    "cms.values": "any text",
    "hcms.values": "any text",
    "pgr.field": "the most exact prime",
    "rappor.f": "give `epsilon_infinity`",
    "rappor.p": "give `epsilon_infinity`",
    "rappor.q": "give `epsilon_infinity`",
    "rappor.epsilon_infinity": "give `f`, `p`, `q`",
    "rappor.epsilon_first_report": "give `f`, `p`, `q`",
    "basic_rappor.f": "give `epsilon_infinity`",
    "basic_rappor.p": "give `epsilon_infinity`",
    "basic_rappor.q": "give `epsilon_infinity`",
    "basic_rappor.epsilon_infinity": "give `f`, `p`, `q`",
    "basic_rappor.epsilon_first_report": "give `f`, `p`, `q`",
}
