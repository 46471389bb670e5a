# ruff: noqa: E501 - tables in the letters of the language
"""Words of English."""

from context.languages import Language

LANGUAGE = Language(
    code="en",
    name="English",
    script="latin",
    stop_words=(
        "am i he she his her him were those them yes well very good one said the and of to in is that it was for on are with as at be this "
        "have from not but had by they you we can will would there been if when who which what your has do does how should could about into "
        "their then than please i'm don't it's an or my me our all also just now let's let need want make sure here these some any no so up "
        "out"
    ),
    telling_letters=None,
    section_titles="Objective|Constraints in force|Decisions and reasons|Work done|Open work|Artifacts and exact identifiers|People and who said what",
    unproven="unverified",
    refusals=(
        "i'm sorry, but i can|i'm sorry, i can|i am sorry, but i can|sorry, but i can|sorry, i can|i cannot |i can't |i'm unable to|"
        "i am unable to|i'm not able to|i won't be able|i will not |i must decline|i apologize, but|unfortunately, i can|as an ai|"
        "i don't have access|i do not have access|i don't have enough|i'm afraid i can"
    ),
    input_requests=(
        "provide the conversation|share the conversation|provide the transcript|share the transcript|paste the conversation|provide the text|"
        "provide me with the|please provide the|please share the|what would you like me to|how can i help|how can i assist|how may i assist|"
        "no conversation to summarize|no messages to summarize|there is no conversation|there is nothing to summarize|conversation is empty|"
        "transcript is empty|no conversation was provided|haven't provided|have not provided|didn't provide|no transcript was provided|"
        "i don't see any conversation"
    ),
    negations="not no never none neither nor without except cannot nothing nobody",
    which_words=None,
    every_words="all every each both",
    some_words="some any",
    actions=(
        "add|analyze|analyse|announce|answer|archive|ask|attach|audit|back|backup|book|build|buy|calculate|call|cancel|capture|chart|check|"
        "choose|classify|clean|clone|close|collect|combine|commit|compare|compile|compose|compress|compute|configure|connect|convert|copy|"
        "correct|count|crawl|create|crop|debug|delete|deploy|describe|design|detect|diff|download|draft|draw|edit|email|embed|encrypt|"
        "estimate|evaluate|execute|explain|export|extract|fetch|file|fill|filter|find|fix|forecast|format|forward|generate|get|give|go|grade|"
        "ground|help|host|identify|illustrate|import|improve|index|insert|inspect|install|invite|join|launch|list|listen|load|locate|log|look|"
        "mail|make|map|measure|merge|message|monitor|move|name|narrate|notify|open|optimize|order|organize|outline|overlay|paint|parse|patch|"
        "pay|persist|pick|plan|play|plot|post|predict|prepare|present|preview|print|produce|promote|propose|publish|pull|push|put|query|read|"
        "recall|recommend|record|redact|refactor|remember|remind|remove|rename|render|repair|replace|reply|report|research|reserve|reset|"
        "resize|resolve|restart|restore|retrieve|review|rewrite|rotate|route|run|save|scan|schedule|scrape|screenshot|search|see|select|send|"
        "set|share|show|sign|simulate|sketch|solve|sort|split|stop|store|stream|submit|subscribe|suggest|summarize|summarise|sync|tag|take|"
        "tell|test|track|train|transcribe|transfer|transform|translate|tweet|type|undo|update|upload|validate|verify|visualize|watch|write|"
        "zip"
    ),
    endings=None,
    mail={
        "from": "from",
        "sent": "sent",
        "subject": "subject",
        "wrote": "wrote|writes",
        "forwarded": "forwarded message|original message|original appointment",
    },
    markers={
        "smalltalk": r"how (?:was|is|are|were|have) (?:the rest of )?(?:you|your|things|life|everything)(?: been| doing)?|how's (?:it|life|your|everything)|what's up|what have you been up to|any plans for (?:today|tonight|tomorrow|the weekend)|did you (?:sleep|rest) well",
        "anew": r"from now on|from today(?: on)?|from here on|as of (?:now|today)|henceforth|going forward",
        "order": r"send|sends|write|give|make|use|keep|show|answer|reply|put|deliver|file|save|please",
        "frame": r"wants?|costs?|prices?|priced|quot\w+|asks?|asking|charg\w+|says?|said|comes?|coming|takes?|place|set|scheduled|planned|sent|would|will|per|each|total",
        "filler": "tell|told|say|said|know|think|ask|need|needs|needed|want|wants|wanted|like|get|gets|got|give|gave|given|go|goes|went|come|comes|coming|make|made|take|took|let|much|many|lot|lots|thing|things|way|end|avoid|sure|really|actually|currently|anything|something|everything|someone|anyone|ever|yet|finally|eventually|anyway",
        "rule": (
            "must|must not|mustn't|never|always|only|at most|at least|no more than|not allowed|forbidden|required|requires|make sure|ensure|avoid|prefer|"
            "instead of|without|except|limit|deadline|budget|(?<!i )cannot|may not|need to be|has to be|should not|shouldn't"
        ),
        "strong": (
            "must|must not|never|always|not allowed|forbidden|required|(?:ask|check with) (?:me|us) (?:before|first)|under no circumstances|on no account|"
            r"(?:nothing|nobody|no one) (?:may|must|shall)|without (?:my|our) (?:\w+ )?(?:approval|consent|permission|ok)"
        ),
        "wish": "i want|i need|i'd like|i would like|we want|we need|please|could you|can you|help me|let's|looking to|goal is|the goal",
        "decision": (
            "decided|we decide|let's go with|go with|we'll use|we will use|i'll use|agreed|chose|chosen|settled on|instead of|rather than|because|"
            "therefore|the plan is|approved|confirmed|switch to|root cause"
        ),
        "open": (
            "todo|to do|tbd|fixme|next step|next steps|remaining|still need|still needs|not yet|pending|follow up|follow-up|later|blocked|waiting for|"
            "unresolved|open question|left to do|need to|needs to|will|going to"
        ),
        "done": (
            "done|completed|finished|fixed|created|added|removed|updated|implemented|committed|pushed|merged|deployed|booked|cancelled|canceled|sent|"
            "successfully|works now|passed|resolved|refactored|moved|renamed|wrote|saved"
        ),
        "ended": (
            "no longer (?:applies|apply|holds?|valid|in force|required|needed|necessary|relevant|binding|wanted|the case)|"
            "(?:is|are|was|were|been|be|got) (?:lifted|withdrawn|revoked|reversed|rescinded|repealed|overruled|superseded|waived|relaxed|cancell?ed|called off|abandoned|obsolete|dropped|removed|replaced (?:by|with)|moot)|"
            r"(?:lifts?|lifted|withdr[ae]ws?|withdrew|revoke[sd]?|reverse[sd]?|rescind(?:s|ed)?|repeal(?:s|ed)?|overrule[sd]?|waive[sd]?|drop(?:s|ped)?|cancel(?:s|l?ed)?|abandon(?:s|ed)?) (?:the|that|this|his|her|their|its|my|our)\b|"
            r"(?:forget|ignore|disregard|scrap) (?:about )?(?:the|that|this|my|our|what)\b|never ?mind|"
            "(?:may|can|allowed to|fine to|okay to|ok to) [^.;]{1,120} again|"
            r"(?:changed|moved|extended|shortened|raised|lowered|increased|reduced|postponed|updated) from [^.;]{1,80} to\b|"
            "not (?:needed|necessary|required|wanted|relevant) any ?more|decided against"
        ),
        "unsure": (
            r"if|when|whenever|once|until|till|unless|will|would|could|might|should|must|maybe|perhaps|whether|asks?|asked|wants?|wanted|wish\w{0,3}|"
            r"suggests?|suggested|propos\w{1,4}|consider\w{0,3}|plans?|hopes?|still|remains?|nearly|almost|soon"
        ),
        "failed": (
            r"fail\w{0,4}|errors?|attempt\w{0,3}|tried|tries|unable|unsuccessful\w{0,2}|\w+n't|cannot|not|partly|partial\w{0,2}|pending|blocked|incomplete|"
            "without success"
        ),
        "joint": "and|but|while|whereas",
        "worked": r"worked|works|succeed\w*|success\w*|went through|passed",
        "tried": r"tr(?:y|ied|ies|ying)|attempt\w*",
        "decides": r"decid\w*|decision\w*",
        "agrees": r"agreed|agrees|accept\w*|approv\w*|consent\w*|said yes",
        "refuses": r"refus\w*|reject\w*|declin\w*|turn(?:ed|s|ing)? down|said no|voted down|against|denied",
        "changed": "now|new|changed?|changes|moved?|moves|postponed|rescheduled|updated?|instead|correction|corrected|actually|went|goes|raised|lowered|increased|reduced|dropped|(?:come|go)(?:es)? (?:down|up)|down to|up to",
        "moved": "moved|postponed|rescheduled|brought forward",
        "moved_to": "to",
        "deadline": "deadline|due",
        "announced": r"(?:\w+ )?rules?",
        "called_rule": r"(?:that's|that is|this is|it's) (?:a|the|our|my) rule",
        "instead": "instead",
        "urgent": "important|attention|mind|please note",
        "ban": r"no (?!problem|idea|one|thanks)\w+(?: \w+)?(?= (?:after|before|between|until|from|on|past|over|above) (?:the )?\W?\d)",
    },
    signs={
        "casual.greeting": (
            "hi hello heyo wassup hey heya hiya howdy yo sup greetings good_morning good_afternoon good_evening good_day how_are_you "
            "how_is_it_going how's_it_going hows_it_going what's_up whats_up how_do_you_do nice_to_meet long_time_no_see how_have_you_been "
            "how_are_things how_you_doing how's_your_day how_is_your_day how_was_your_day hullo ahoy aloha heyo wazzup whaddup gm what's_new "
            "whats_new what's_good how's_life how_is_life how's_everything how_goes_it how_are_u how_r_u how_are_ya what_are_you_up_to "
            "welcome_back i'm_back nice_to_see_you good_to_see_you pleased_to_meet_you hello_bot hi_bot hey_bot thanks_bot "
            "happy_birthday merry_christmas happy_new_year happy_easter happy_holidays"
        ),
        "casual.thanks": (
            "thanks thank thx ty tysm cheers appreciate* grateful thankful much_obliged thankyou thanx thnx tnx np no_problem no_worries "
            "you're_welcome you_are_welcome welcome my_pleasure anytime"
        ),
        "casual.bye": (
            "bye goodbye goodnight farewell cya see_you see_ya good_night talk_later talk_to_you_later catch_you_later take_care have_a_good "
            "have_a_nice have_a_great nice_talking good_talking great_talking nice_chatting good_chat great_talk good_talk nice_talk later laters ttyl brb gtg gn bye_bye "
            "talk_soon speak_soon until_tomorrow sleep_well sweet_dreams have_fun"
        ),
        "casual.yes": (
            "yes yeah yep yup yeap yea ya aye ok okay okey k sure alright right correct exactly indeed affirmative absolutely definitely "
            "certainly agreed roger true confirmed sounds_good of_course for_sure you_bet that's_right you_are_right you're_right agree "
            "checks_out got_it gotcha makes_sense fair_enough i_see understood noted will_do works_for_me fine_by_me fine_with_me all_good that_works "
            "that's_fine copy_that okie okie_dokie okey_dokey alrighty totally sure_thing same_here me_too good_point"
        ),
        "casual.no": "no nope nah nay negative never_mind nevermind not_really no_way no_thanks not_at_all false wrong incorrect disagree",
        "casual.maybe": (
            "maybe perhaps possibly undecided unsure not_sure i_don't_know i_dont_know dunno might_be could_be no_idea not_certain uncertain "
            "unclear hard_to_say can't_decide can't_say hmm hm huh meh um uh er erm oh ah aha"
        ),
        "casual.indifferent": (
            "whatever whichever don't_care dont_care doesn't_matter doesnt_matter not_matter don't_mind dont_mind no_preference up_to_you "
            "either_way anything_is anything_will any_will_do all_the_same wouldn't_mind not_picky no_matter don't_really_care "
            "wouldn't_really_mind any_of_them"
        ),
        "casual.praise": (
            "awesome amazing great excellent fantastic wonderful brilliant perfect nice cool lovely superb marvelous terrific well_done good_job "
            "great_job nice_job nice_work good_work great_work love_it love_this love_you you_rock helpful bravo impressive congrats "
            "congratulations lol haha hahaha lmao hero smart clever did_well good_one kudos wow whoa woah yay hooray woohoo omg rofl hehe gg neat "
            "that's_great that_is_great that's_good that's_nice that_helps good_to_know good_to_hear glad_to_hear well_played way_to_go you're_the_best "
            "you_are_the_best not_bad"
        ),
        "casual.joke": (
            "joke jokes funny humor humorous humour laugh pun puns riddle cheer_me make_me_smile make_me_laugh entertain amuse amusing "
            "something_funny bored just_kidding"
        ),
        "casual.persona": (
            "your_name your_age your_birthday your_hobby your_hobbies your_favorite your_favourite your_boss your_job your_creator your_maker "
            "your_owner your_pet your_pets your_parents your_family your_gender your_purpose your_spare_time your_free_time your_country "
            "your_home your_origin your_hometown who_are_you what_are_you who_made_you made_you created_you built_you programmed_you designed_you "
            "coded_you developed_you invented_you makes_you you_born you_come_from you_human you_real you_alive you_a_robot you_a_computer "
            "you_a_bot you_a_person you_a_human you_an_ai you_ai are_you_from where_do_you_live you_like_to_do for_fun you_called named_you "
            "talking_to who_is_this how_old_are_you you_dream you_sleep you_are_a you_are_human you_are_real a_real_person real_person a_bot "
            "old_you_are old_are_you you're_from you_are_from you_have_hobbies"
        ),
        "casual.feeling": (
            "i'm_sad i_am_sad i_feel i'm_tired i_am_tired i'm_happy i_am_happy i'm_bored i'm_lonely i_love i_miss feeling_down so_tired so_happy "
            "so_excited can't_sleep sorry excuse_me pardon oops my_bad too_bad ouch ugh phew"
        ),
        "casual.daytime": "morning mornin afternoon evening",
        "casual.address": "mate man bro bruh dude buddy pal friend friends folks guys everyone everybody y'all team sir madam dear boss many again there",
        "you.word": "you your yours yourself u ur you're you've",
        "you.asked": "are_you are_u were_you do_you did_you have_you is_your are_your was_your what's_your whats_your",
        "ask.what": (
            "what what's whats who who's whos whose whom when when's where where's wheres why why's which how how's hows is_there are_there is_it "
            "does_it is_a is_the are_the was_the were_the did_the does_the has_the would_it will_it could_it anyone_know any_idea do_they does_a "
            "is_this are_any"
        ),
        "ask.generic": (
            "how_do_i how_can_i what_can_i where_can_i can_i should_i could_i would_i may_i must_i do_i_need do_i_have_to do_i_get do_i_make "
            "will_i_need can_we should_we could_we do_you_get does_one do_people i_need_to"
        ),
        "ask.search": (
            "search* find finding look_up look_it_up look_them_up look_this_up look_that_up look_for lookup looking_for google browse research* investigate fetch retrieve check_out find_out "
            "dig_up sources cite"
        ),
        "ask.explain": (
            "explain* compar* define definition describe describ* meaning mean means difference differences versus vs recommend* suggest* spell "
            "spelling synonym* antonym* translate translation pros_and_cons tell_me_about know_about information facts fact reviews review rated "
            "rating do_you_know can_you_tell could_you_tell i_need_to_know i_want_to_know i'd_like_to_know i_would_like_to_know want_to_know "
            "curious wonder wondering"
        ),
        "ask.show": "show_me show see",
        "ask.tell": (
            "tell_me give_me let_me_know tell_us list name info details learn advice tips examples example overview best top popular trending "
            "latest current today currently check"
        ),
        "ask.topic": (
            "weather forecast news headlines headline recipe recipes calories restaurant restaurants hotel hotels directions visa visas vaccine "
            "vaccines vaccination timezone time_zone exchange_rate currency travel traveling travelling near_me nearby itinerary sightseeing "
            "population capital_of stock_price share_price election movies_playing concerts route"
        ),
        "ask.world": (
            "forecast rain raining snow snowing sunny humidity news headlines headline president government election politics war history "
            "population capital country countries city cities world planet earth moon space science invented discovered born died famous actor "
            "actress singer author movie movies film films concert event events festival sports match score league season stock stocks "
            "share_price market nasdaq dow exchange_rate currency currencies dollar dollars euro euros pounds yen rupees convert conversion price "
            "prices cost costs worth cheap cheapest salary inflation ceo founder"
        ),
        "ask.place": (
            "near_me nearby near around_here closest nearest distance directions route map miles kilometers get_to far_is drive_to walk_to "
            "traffic bus train trains subway metro taxi flight flights airport hotel hotels restaurant restaurants cafe bar bars shop shops store "
            "stores mall museum park beach hospital pharmacy gas_station travel traveling travelling trip vacation tourist visa visas passport "
            "embassy vaccine vaccines vaccination shots timezone time_zone plug socket outlet luggage airline airlines abroad safe_to sights "
            "itinerary"
        ),
        "ask.food": (
            "recipe recipes cook cooking bake baking roast ingredient ingredients substitute instead_of calories calorie nutrition nutritional "
            "protein carbs carbohydrates fat sodium sugar vitamin vitamins diet food foods meal meals dinner lunch breakfast dish dishes cuisine "
            "chicken beef pork fish rice pasta pizza burger soup salad cake bread cheese egg eggs milk butter oil sauce taste delicious spicy "
            "vegan vegetarian"
        ),
        "code.craft": (
            "code codes coding codebase function functions method methods class classes variable variables debug* refactor* compil* syntax "
            "exception exceptions traceback stacktrace stack_trace null_pointer segfault bug bugs bugfix unit_test unit_tests regex regexp repo "
            "repos repository repositories commit commits merge pull_request rebase api apis endpoint endpoints json xml yaml toml csv sdk cli "
            "library libraries framework frameworks module modules package packages dependency dependencies algorithm algorithms array arrays "
            "integer integers boolean loop loops recursion recursive iterator iterate pointer pointers struct schema database databases query "
            "queries frontend backend middleware snippet pseudocode program programs programming programmer software script scripts scripting "
            "component implement* config configuration parser parse parsing callback async asynchronous multithreaded mutex runtime dataframe "
            "neural_network machine_learning deep_learning tensor webpage web_app webapp oop orm crud mvc jwt oauth cors websocket websockets "
            "socket_programming tcp udp http https server-side client-side kernel compiler bytecode garbage_collection big_o time_complexity "
            "leetcode open_source source_code codepath unittest dockerized containerized deploy_to ci_cd pipeline pipelines regression classifier "
            "training_loop embedding embeddings vector_store rag fine-tune finetune gpu_kernel simulation simulate automate automation bot "
            "scraper scraping crawler app_that gui user_interface localhost env microservice microservices deserialize hash_table linked_list "
            "binary_tree build_script codegen linter"
        ),
        "code.lang": (
            "python javascript typescript java kotlin swift scala haskell rust golang ruby php perl lua matlab html html5 css css3 scss sql mysql "
            "postgres postgresql sqlite mongodb redis numpy pandas pytorch tensorflow keras sklearn django flask fastapi react reactjs vue vuejs "
            "angular svelte nodejs node.js npm yarn webpack vite nextjs next.js spring_boot hibernate laravel symfony rails dotnet c++ c# cpp js "
            "ts jsx tsx vba latex tikz opengl vulkan cuda unreal godot arduino esp32 verilog vhdl wasm webassembly graphql grpc kafka rabbitmq "
            "kubernetes k8s helm terraform ansible jenkins docker dockerfile nginx apache aws azure gcp s3 github gitlab git bitbucket jupyter "
            "colab langchain llm llms huggingface testbench selenium playwright puppeteer pytest junit jest mocha gradle maven cmake makefile "
            "android xcode flutter dart electron qt pygame matplotlib plotly powershell cobol fortran prolog lisp clojure elixir erlang bibtex "
            "overleaf regex101 wget parallel ffmpeg"
        ),
        "code.strong": (
            "directory directories subdirectory subdirectories subfolder subfolders filename filenames symlink symlinks tarball chmod chown grep "
            "egrep sed awk xargs rsync ssh scp crontab cronjob cronjobs stdin stdout stderr mkdir git github_repo pull_request unit_test "
            "unit_tests refactor* debug* codebase stack_trace stacktrace traceback source_code bash_script shell_script build_failing "
            "build_failed build_fails build_broke build_broken failing_build broken_build tests_fail tests_failing failing_tests"
        ),
        "code.file": (
            "file files folder folders hardlink symbolic_link archive tarball zip unzip gzip compressed tar text_file txt log_file log_files "
            "line_numbers each_line first_line last_line lines column columns delimiter delimited whitespace newline newlines extension "
            "permissions permission executable ownership stdin stdout stderr standard_input standard_output"
        ),
        "code.shell": (
            "bash shell zsh terminal console command commands sudo grep egrep sed awk xargs chmod chown mkdir rmdir rsync scp ssh sshd curl ls cd "
            "cp mv rm uniq wc tee diff differences_between differing crontab cronjob cronjobs cron alias environment_variable "
            "environment_variables home_directory working_directory recursively regular_expression string strings substring matching pattern "
            "patterns hostname port_forwarding remote_host remote_server root_user append overwrite rename renaming truncate dry_run "
            "background_job hidden_files wildcard glob backup md5 md5sum sha256 checksum tmp usr etc encoding encode decode base64 characters "
            "random_line sorted user_group"
        ),
        "code.act": (
            "fix fixing build building deploy deploying deployment test tests testing install installing uninstall run running execute executing "
            "write rewrite optimize optimise error errors crash crashes crashing failing fails broken edit modify patch update remove delete copy "
            "fixed fixes rebuild rebuilds rebuilding builds redeploy redeploying deploys deployed deployments rerun retest errored erroring "
            "move replace insert extract split join concatenate count print prints output download upload add change sort save"
        ),
        "ops.metric": (
            "cpu gpu gpus vram ram uptime load_average memory_usage disk_usage disk_space free_space free_memory bandwidth latency throughput "
            "gpu_temperature cpu_temperature fan_speed swap_usage memory_leak system_load inodes utilization utilisation disk disks partition "
            "partitions mount mounts mounted filesystem filesystems file_system file_systems kilobytes megabytes gigabytes"
        ),
        "ops.strong": (
            "processes process_id pid pids ppid daemon daemons systemd systemctl network_interface network_interfaces eth0 wlan0 ip_address "
            "ip_addresses mac_address netmask subnet ipv4 ipv6 packets packet users_logged logged_in logged_users user_sessions current_users "
            "running_services services_failed background_jobs suspended_jobs running_jobs jobs_running process_tree ping pings pstree htop ifconfig netstat "
            "iostat vmstat health_check healthcheck node_status node_exporter prometheus grafana services_up services_running services_down "
            "services_healthy server_healthy servers_healthy server_up servers_up server_down servers_down restart_count"
        ),
        "ops.thing": (
            "process service services server servers interface interfaces port ports ping gateway container containers pod pods cluster job jobs "
            "user users login tty machine host hosts temperature temperatures temps memory network system logs"
        ),
        "ops.check": (
            "status health monitor monitoring monitored is_it_running still_running is_up is_down still_up still_down online offline diagnostics "
            "diagnose metrics dashboard dashboards alerting downtime outage incident incidents unhealthy everything_healthy all_healthy still_healthy nodes_healthy "
            "pods_healthy cluster_healthy statuses"
        ),
        "coin.name": (
            "bitcoin btc ethereum ether eth solana sol dogecoin litecoin ltc xrp cardano polkadot avax usdt usdc stablecoin stablecoins bnb "
            "binance coinbase kraken uniswap shiba monero xmr btcusdt ethusdt metamask coingecko coindesk arbitrum chainlink "
            "aptos tezos algorand hedera starknet zksync toncoin matic doge shib wbtc weth steth opensea raydium pancakeswap etherscan solscan trezor "
            "coinmarketcap"
        ),
        "coin.word": (
            "crypto cryptocurrency cryptocurrencies defi nft nfts blockchain blockchains on-chain onchain unstake airdrop airdrops gas_fee "
            "gas_fees smart_contract smart_contracts memecoin altcoin altcoins hodl seed_phrase yield_farming liquidity_pool liquidity_pools "
            "tokenomics satoshi satoshis mempool web3 staking unstaking unstaked restake restaking crypto_wallet my_wallet wallet wallets"
        ),
        "coin.weak": (
            "token tokens balance transfer chain chains trade trading trader slippage bridge liquidity portfolio swap stake staked mint minting "
            "coin coins tether ripple avalanche polygon tron dex candlestick market_cap ledger balances transfers transferred transferring swaps swapping "
            "swapped stakes mints minted optimism cosmos fantom stellar cronos celo sui validator validators mainnet testnet base_chain"
        ),
        "media.thing": (
            "image images picture pictures photo photos photograph photographs drawing illustration artwork painting portrait logo icon icons "
            "avatar wallpaper poster thumbnail banner meme gif audio sound sounds voice speech video videos clip clips animation melody tune "
            "subtitle subtitles caption captions transcript chart charts diagram infographic graph waveform spectrogram recording mp3 mp4 wav png "
            "jpg jpeg svg webm flac screenshot screenshots screencast"
        ),
        "media.verb": (
            "draw sketch illustrate paint transcribe transcribing transcription narrate voiceover upscale colorize stylize watermark "
            "text_to_speech text-to-speech speech_to_text speech-to-text read_aloud read_it_aloud out_loud aloud remove_background "
            "remove_the_background denoise listen_to_this listen_to_it"
        ),
        "media.act": (
            "render create make design record dub crop resize blend visualize plot enhance combine stitch "
            "synchronize trim convert extract edit modify apply add"
        ),
        "media.cue": "generate generates generating speak speaks speaking say saying listen listens listening",
        "media.play": (
            "play playing playlist playlists radio podcast podcasts song songs music track tracks album albums audiobook audiobooks spotify "
            "pandora youtube shuffle volume louder quieter mute unmute artist lyrics"
        ),
        "mem.recall": (
            "remember remembers recall recalled you_said you_told you_mentioned i_said i_told i_mentioned we_discussed we_talked we_agreed "
            "we_decided we_spoke did_i_say did_i_tell did_i_mention did_we did_you_say last_time our_last earlier_conversation "
            "previous_conversation past_conversation forgot forget forgotten misremember my_name my_first_name my_last_name my_nickname call_me "
            "know_about_me my_notes my_preferences note_that_my note_that_i i_asked have_for_me who_am_i am_i_called i'm_called keep_in_mind memorize remind_me_what "
            "do_you_know_my this_for_later that_for_later it_for_later note_this_down note_that_down"
        ),
        "mem.when": "earlier yesterday before previously",
        "mem.past": "ago last_week last_month last_year back_then once used_to recently was were did had",
        "mem.affairs": (
            "deadline deadlines meeting meetings appointment appointments pickup daycare order orders ordered delivery shipment shipping warranty "
            "discount customer customers client clients colleague colleagues coworker coworkers boss manager teammate teammates kid kids son "
            "daughter wife husband spouse partner brother sister mom mum dad parents roommate neighbor neighbour budget quarterly invoice "
            "invoices contract birthday anniversary errand errands grocery groceries workout gym homework chores team supplier"
        ),
        "mem.mine": "my mine our ours myself",
        "mem.they": "he she him her his hers they them their theirs",
        "ask.certain": "the that this those these",
        "mem.i": "i i'm i've i'd i'll me we we're we've am_i did_i have_i was_i",
        "plan.steps": (
            "step_by_step step-by-step into_steps and_then first_then afterwards after_that finally followed_by one_by_one phases milestones roadmap "
            "strategy workflow end-to-end end_to_end from_scratch thoroughly comprehensive in-depth in_depth in_detail detailed well-formatted"
        ),
        "plan.several": (
            "across_all across_several across_multiple across_various across_different across_many across_every map_out work_out_a work_out_the "
            "lay_out_a lay_out_the"
        ),
        "plan.analyze": (
            "plan planning plans analyze analyse analyzing analysis evaluate assess itinerary tour design_a architecture proposal summarize "
            "summarizing summary synthesize audit prove derive percentage percentages organize arrange timetable"
        ),
        "plan.deliver": (
            "report reports presentation ppt pptx powerpoint slides slide_deck deck docx word_document pdf spreadsheet excel xlsx markdown "
            "tutorial guide essay article newsletter whitepaper save_it save_the saved save_them store_it export word_cloud"
        ),
        "plan.also": "also additionally furthermore moreover as_well_as in_addition and_also plus lastly along_with",
        "plan.want": (
            "i_need i_want i_would_like i'd_like can_you could_you would_you please i_am_planning i'm_planning we_need we_want help_me i_am_a "
            "i'm_a i'm_organizing i'm_hosting i_am_organizing provide_me"
        ),
        "follow.go": (
            "go proceed continue do_it do_that do_this go_ahead go_on go_for_it carry_on start begin run_it ship_it send_it let's_go lets_go "
            "let's_do keep_going please_do try_it try_again again retry next apply_it execute_it merge_it finish_it build_it fix_it yes_please "
            "sounds_good looks_good do_so make_it_so please run"
        ),
        "follow.and": "and what_about how_about now then also but or so only just except instead same likewise",
        "follow.that": "it that this them those these one ones second first third last other another both all rest more former latter either there its too",
    },
)
